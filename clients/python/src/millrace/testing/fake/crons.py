"""Schedules of the fake server."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

from .cron_expression import Timetable
from .problem import invalid
from .store import DEFAULT_QUEUE, TENANT, Store, StoredCron, instant
from .workflows import create_workflow

# What a schedule of jobs has, and one of workflows has not.
_OF_JOBS = ("task_name", "payload", "queue", "config")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def put_cron(store: Store, name: str, given: dict[str, Any]) -> tuple[StoredCron, bool]:
    """Creates the schedule of a name or replaces what it says; and whether it is new."""
    zone = given.get("timezone") or "UTC"
    if zone.upper() != "UTC":
        raise invalid("timezone is one that FakeServer does not know; use a real server")
    workflow = given.get("workflow")
    if workflow is None and given.get("task_name") is None:
        raise invalid("task_name is required unless the schedule starts a workflow")
    extra = next((field for field in _OF_JOBS if given.get(field) is not None), None)
    if workflow is not None and extra is not None:
        raise invalid(f"{extra} must not be given together with workflow")
    expression = given["cron_expr"]
    before = next((cron for cron in store.crons.values() if cron.record["name"] == name), None)
    old = {} if before is None else before.record
    upcoming = _next(store, expression)
    record: dict[str, Any] = {
        "id": old.get("id") or store.new_id(),
        "name": name,
        "cron_expr": expression,
        "timezone": zone,
        "task_name": given.get("task_name"),
        "workflow": workflow,
        "payload": given.get("payload") or {},
        "queue_name": None if workflow is not None else given.get("queue") or DEFAULT_QUEUE,
        "config": given.get("config") or {},
        "overlap": given.get("overlap") or "allow",
        "enabled": old.get("enabled", True),
        "next_run_at": old["next_run_at"] if old.get("cron_expr") == expression else upcoming,
        "last_enqueued_at": old.get("last_enqueued_at"),
        "created_at": old.get("created_at") or store.clock.text(),
        "tenant_id": TENANT,
    }
    if before is None:
        before = store.crons[record["id"]] = StoredCron(record)
        return before, True
    before.record = record
    return before, False


def set_enabled(store: Store, cron: StoredCron, enabled: bool) -> None:
    """A paused one shows the occurrence that was next; resuming replaces it with the next one in the future."""
    if cron.record["enabled"] != enabled:
        upcoming = _next(store, cron.record["cron_expr"]) if enabled else cron.record["next_run_at"]
        cron.record = {**cron.record, "enabled": enabled, "next_run_at": upcoming}


def next_runs(store: Store, expression: str, count: int) -> list[str]:
    """The next instants; those it would have if it were resumed now."""
    timetable, at, runs = Timetable(expression), store.clock.date(), list[str]()
    while len(runs) < count:
        following = timetable.next(at)
        if following is None:
            break
        at = following
        runs.append(store.clock.text(_micros(at)))
    return runs


def fire(store: Store, cron: StoredCron, occurrence: str | None) -> dict[str, str]:
    """Enqueues its job, or starts its workflow: for an occurrence, or because somebody asked for it."""
    record = cron.record
    metadata = {"cron_id": record["id"], "cron_name": record["name"]}
    key = None
    if occurrence is not None:
        metadata["cron_due_at"] = occurrence
        key = f"millrace:cron:{record['id']}:{occurrence}"
    if record["workflow"] is not None:
        given = record["workflow"]
        started = create_workflow(store, {**given, "metadata": {**(given.get("metadata") or {}), **metadata}})
        made = {"workflow_id": str(started.record["id"])}
    else:
        fields = {
            **{name: record[name] for name in ("task_name", "queue_name", "payload")},
            "metadata": metadata,
            "idempotency_key": key,
        }
        made = {"job_id": str(store.add_job(fields, record["config"], store.clock.now).record["id"])}
    now = store.clock.text()
    _record(store, cron, occurrence or now, "triggered" if occurrence is None else "on_time", made)
    cron.record = {**record, "last_enqueued_at": now}
    return made


def _record(store: Store, cron: StoredCron, occurrence: str, kind: str, made: dict[str, str]) -> None:
    ids = {name: made.get(name) for name in ("job_id", "workflow_id")}
    cron.firings.append({"occurrence": occurrence, "fired_at": store.clock.text(), "kind": kind, **ids})


def _goes_on(store: Store, cron: StoredCron) -> bool:
    """Whether what the last firing made has not ended."""
    made = [each for each in cron.firings if each["kind"] != "skipped"]
    if not made:
        return False
    things = [store.jobs.get(made[-1]["job_id"] or ""), store.workflows.get(made[-1]["workflow_id"] or "")]
    return any(thing is not None and not thing.has_ended for thing in things)


def first_due(store: Store) -> int | None:
    """The first instant at which a schedule is due; None if none is."""
    records = [cron.record for cron in store.crons.values()]
    due = [each["next_run_at"] for each in records if each["enabled"] and each["next_run_at"] is not None]
    return min(map(instant, due)) if due else None


def fire_due(store: Store) -> None:
    """Fires what is due at the clock's instant."""
    for cron in list(store.crons.values()):
        at = cron.record["next_run_at"]
        if cron.record["enabled"] and at is not None and instant(at) <= store.clock.now:
            if cron.record["overlap"] == "skip" and _goes_on(store, cron):
                _record(store, cron, at, "skipped", {})
            else:
                fire(store, cron, at)
            upcoming = _next(store, cron.record["cron_expr"])
            cron.record = {**cron.record, "enabled": upcoming is not None, "next_run_at": upcoming}


def _next(store: Store, expression: str) -> str | None:
    following = Timetable(expression).next(store.clock.date())
    return None if following is None else store.clock.text(_micros(following))


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
