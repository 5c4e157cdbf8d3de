"""Steps that decide whether they run, and steps that wait for a signal, by the service's own rules."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .problem import Problem, invalid
from .store import Store, StoredJob, StoredWait, StoredWorkflow

WAITS_QUEUE = "millrace:waits"
WAIT_TASK = "millrace:wait"

_COMPARISONS = ("is", "is_not", "in")
_OF_TASKS = ("task_name", "payload", "queue", "config")
_MOST_WAITS = 100
_MOST_ASK_BYTES = 16_384
_YEAR_SECS = 31_536_000


def check_rules(steps: Sequence[Mapping[str, Any]]) -> None:
    """Raises Problem for what the shapes do not say."""
    if len([step for step in steps if step.get("wait") is not None]) > _MOST_WAITS:
        raise invalid(f"at most {_MOST_WAITS} steps may wait")
    above = {step["name"]: step.get("depends_on") or [] for step in steps}
    for step in steps:
        if step.get("wait") is not None:
            _check_wait(step)
        elif step.get("task_name") is None:
            raise invalid(f"the step {step['name']} needs a task_name or a wait")
        if step.get("when") is not None:
            _check_condition(step["name"], step["when"], above)


def _check_wait(step: Mapping[str, Any]) -> None:
    extra = next((field for field in _OF_TASKS if step.get(field) is not None), None)
    if extra is not None:
        raise invalid(f"{extra} must not be given together with wait")
    if not 1 <= step["wait"]["timeout_secs"] <= _YEAR_SECS:
        raise invalid(f"timeout_secs must be between 1 and {_YEAR_SECS}")
    if len(json.dumps(step["wait"].get("ask"))) > _MOST_ASK_BYTES:
        raise Problem(413, "payload_too_large", f"ask must have at most {_MOST_ASK_BYTES} bytes")


def _check_condition(name: str, when: Mapping[str, Any], above: Mapping[str, Sequence[str]]) -> None:
    if len([each for each in _COMPARISONS if each in when]) != 1:
        raise invalid(f"the condition of {name} must have exactly one of is, is_not and in")
    target = when["ref"].get("$step")
    if target is None and not when["ref"].get("path"):
        raise invalid(f"the condition of {name} must have a $step, a path, or both")
    seen: set[str] = set()
    ahead = [name]
    while ahead:
        for other in above.get(ahead.pop(), ()):
            if other not in seen:
                seen.add(other)
                ahead.append(other)
    if target is not None and target not in seen:
        raise invalid(f"the condition of {name} refers to {target}, which it does not depend on")


def holds(when: Mapping[str, Any], context: Mapping[str, Any], has_completed: Callable[[str], bool]) -> bool:
    """Whether a step runs. Where the path leads nowhere, the value is null."""
    target, path = when["ref"].get("$step"), when["ref"].get("path") or []
    value: Any = None if target is not None and not has_completed(target) else context
    for part in path if target is None else [target, *path]:
        value = value.get(part) if isinstance(value, dict) else None
    if "is_not" in when:
        return not _same(value, when["is_not"])
    return any(_same(value, each) for each in (when["in"] if "in" in when else [when["is"]]))


def _same(one: Any, two: Any) -> bool:
    """To Python a truth value is a number."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return not isinstance(one, (dict, list)) and bool(one == two)


def wait_of(workflow: StoredWorkflow, job: StoredJob) -> Mapping[str, Any] | None:
    """What the step of a job waits for; None: nothing."""
    named = (step for step in workflow.record["steps"] if step["name"] == job.record["workflow_step_id"])
    return next((step.get("wait") for step in named), None)


def begin_wait(store: Store, workflow: StoredWorkflow, job: StoredJob, wait: Mapping[str, Any]) -> None:
    """Puts the job of a waiting step to sleep until its deadline. A signal that is there already ends it."""
    key = wait.get("key") or workflow.record["id"]
    signal, until = wait["signal"], store.clock.now + wait["timeout_secs"] * 1_000_000
    shown = job.suspensions[signal] = StoredWait(signal, store.clock.now, until, signal, key, wait.get("ask"))
    taken = next((each for each in store.signals if each.is_for(signal, key) and each.ends_at > store.clock.now), None)
    if taken is not None:
        store.signals.remove(taken)
        attempt = {"at": store.clock.text(), "attempt": 0}
        job.checkpoints[signal] = {"name": signal, "value": {"value": taken.value}, **attempt}
        del job.suspensions[signal]
    job.due_at = until if taken is None else store.clock.now
    waiting = {} if taken is not None else {"waiting_for": {**shown.shown(store.clock), "children": None}}
    store.change(job, scheduled_at=store.clock.text(job.due_at), **waiting)
