"""What durable jobs have stored and wait for, and signals that nobody has taken yet, by the service's own rules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from .children import check_awaited, ends_of, unfinished
from .keeping import keep
from .problem import Problem, invalid
from .settle import suspend
from .store import Store, StoredJob, StoredSignal, StoredWait, instant

_MOST_SIGNAL_BYTES = 65_536
_MOST_ASK_BYTES = 16_384
_MOST_SIGNALS_PER_KEY = 100
_YEAR = 366 * 86_400 * 1_000_000


def suspend_job(store: Store, job: StoredJob, given: Mapping[str, Any]) -> None:
    """Back to the queue until the deadline, or until what it waits for has come."""
    name = given["checkpoint"]
    signal, key, ask = _awaited(job, given.get("wait"))
    names: list[str] | None = (given.get("wait") or {}).get("children")
    if names is not None:
        check_awaited(job, names)
    due_at = _due_at(store, job, given)
    for each in job.suspensions.values():
        each.is_open = False
    taken = next((each for each in store.signals if each.is_for(signal, key) and each.ends_at > store.clock.now), None)
    if taken is not None and name not in job.checkpoints:
        store.signals.remove(taken)
        keep(store, job, name, {"value": taken.value})
    ends = None if names is None else ends_of(store, job, names)
    if ends is not None:
        keep(store, job, name, ends)
    if name in job.checkpoints:
        suspend(store, job, store.clock.now, None)
        return
    before = job.suspensions.get(name)
    since = store.clock.now if before is None else before.since
    wait = job.suspensions[name] = StoredWait(name, since, due_at, signal, key, ask, names)
    left = None if names is None else {"total": len(names), "unfinished": unfinished(store, job, names)}
    suspend(store, job, due_at, {**wait.shown(store.clock), "children": left})


def send_signal(store: Store, signal: StoredSignal) -> bool:
    """To the oldest job that waits for it, or stored for the next. Returns whether a job took it."""
    if len(json.dumps(signal.value)) > _MOST_SIGNAL_BYTES:
        raise Problem(413, "payload_too_large", f"value must have at most {_MOST_SIGNAL_BYTES} bytes")
    found = [
        (job, wait) for job in store.jobs.values() for wait in job.open_waits if signal.is_for(wait.signal, wait.key)
    ]
    if found:
        job, wait = min(found, key=lambda each: each[1].since)
        keep(store, job, wait.checkpoint, {"value": signal.value})
        if job.waits:
            suspend(store, job, min(job.due_at, store.clock.now), None)
        return True
    if len([each for each in store.signals if each.is_for(signal.name, signal.key)]) >= _MOST_SIGNALS_PER_KEY:
        most = _MOST_SIGNALS_PER_KEY
        raise Problem(409, "conflict", f"{most} signals of this name and key are stored, and nobody takes them")
    store.signals.append(signal)
    return False


def _due_at(store: Store, job: StoredJob, given: Mapping[str, Any]) -> int:
    """The first deadline under a name stands."""
    until, delay = given.get("until"), given.get("delay_secs")
    if (until is None) == (delay is None):
        raise invalid("until or delay_secs is required, and not both")
    due_at = instant(until) if until is not None else store.clock.now + (delay or 0) * 1_000_000
    if due_at > store.clock.now + _YEAR:
        raise invalid("a job waits for a year at most")
    before = job.suspensions.get(given["checkpoint"])
    return due_at if before is None else before.until


def _awaited(job: StoredJob, wait: Any) -> tuple[str | None, str | None, Any]:
    if wait is None:
        return None, None, None
    if not isinstance(wait, dict) or ("signal" in wait) == ("children" in wait):
        raise invalid("wait must have either a signal or children")
    if "children" in wait:
        return None, None, None
    if len(json.dumps(wait.get("ask"))) > _MOST_ASK_BYTES:
        raise Problem(413, "payload_too_large", f"ask must have at most {_MOST_ASK_BYTES} bytes")
    signal: Any = wait["signal"]
    if not isinstance(signal, dict) or "name" not in signal:
        raise invalid("wait.signal.name is required")
    return signal["name"], signal.get("key") or job.record["id"], wait.get("ask")
