"""Creating jobs: when they are due, when they expire, and which unique one is in the way of another."""

from __future__ import annotations

from typing import Any, NamedTuple

from .limits import check_key, check_limits
from .problem import invalid
from .store import DEFAULT_QUEUE, Store, StoredJob, full_config, instant


class Added(NamedTuple):
    """What came of a body like that of `POST /jobs`. `existing`: one of its unique key was there."""

    id: str
    existing: bool


def add_job(store: Store, given: dict[str, Any], key: str | None) -> Added:
    config = given.get("config") or {}
    due = _due_at(store, given)
    _check(given, config)
    queue = config.get("queue") or DEFAULT_QUEUE
    own = {
        "task_name": given["task_name"],
        "payload": given.get("payload") or {},
        "metadata": given.get("metadata") or {},
    }
    unique = config.get("unique")
    other = None if unique is None else _in_the_way(store, queue, unique)
    if other is None:
        fields = {**own, "queue_name": queue, "idempotency_key": key}
        return Added(str(store.add_job(fields, config, due).record["id"]), False)
    if unique is not None and unique.get("on_conflict") == "replace":
        _replace(store, other, {**own, "config": full_config(config)}, due)
    return Added(str(other.record["id"]), True)


def _due_at(store: Store, given: dict[str, Any]) -> int:
    run_at, delay = given.get("run_at"), given.get("delay_secs")
    if run_at is not None and delay is not None:
        raise invalid("delay_secs must not be given together with run_at")
    return store.clock.now + (delay or 0) * 1_000_000 if run_at is None else instant(run_at)


def _check(given: dict[str, Any], config: dict[str, Any]) -> None:
    if given["task_name"] == "":
        raise invalid("task_name must not be empty")
    expires_secs, expires_at = config.get("expires_secs"), config.get("expires_at")
    run_at, delay = given.get("run_at"), given.get("delay_secs") or 0
    if expires_secs is not None and expires_at is not None:
        raise invalid("config.expires_at must not be given together with expires_secs")
    if expires_at is not None and run_at is not None and instant(expires_at) <= instant(run_at):
        raise invalid("config.expires_at must be after run_at")
    if expires_secs is not None and expires_secs <= delay:
        raise invalid("config.expires_secs must be more than delay_secs")
    if config.get("limits") is not None:
        check_limits(config["limits"])
    if config.get("unique") is not None:
        _check_unique(config["unique"])


def _check_unique(unique: dict[str, Any]) -> None:
    check_key("config.unique.key", unique["key"])
    replaces = unique.get("on_conflict") == "replace"
    if replaces and unique["while"] != "waiting":
        raise invalid('config.unique.on_conflict replace needs while: "waiting"')
    if unique.get("max_wait_secs") is not None and not replaces:
        raise invalid('config.unique.max_wait_secs needs on_conflict: "replace"')


def _in_the_way(store: Store, queue: str, unique: dict[str, Any]) -> StoredJob | None:
    """The newest job of the key, if it is in the way of another."""
    named = [
        job
        for job in store.jobs.values()
        if job.record["queue_name"] == queue and (job.record["config"].get("unique") or {}).get("key") == unique["key"]
    ]
    if not named:
        return None
    record = named[-1].record
    is_new = record["status"] == "pending" and record["delivery_count"] == 0
    is_there = is_new if unique["while"] == "waiting" else not named[-1].has_ended
    return named[-1] if is_there else None


def _replace(store: Store, job: StoredJob, fields: dict[str, Any], due: int) -> None:
    """What waits takes the new fields; it is due by its longest wait."""
    most = fields["config"]["unique"].get("max_wait_secs")
    if most is not None:
        due = min(due, instant(job.record["created_at"]) + most * 1_000_000)
    job.due_at = max(store.clock.now, due)
    store.change(job, **fields, scheduled_at=store.clock.text(job.due_at))
