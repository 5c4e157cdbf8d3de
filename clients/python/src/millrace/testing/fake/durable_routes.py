"""Checkpoints, waits and signals of the fake server."""

from __future__ import annotations

from typing import Any

from ...wire.types import CheckpointRequest, ChildrenRequest, JobSignalRequest, SignalRequest, SuspendRequest
from .children import add_children
from .durable import send_signal, suspend_job
from .exchange import FakeRequest, Reply, Route, once
from .job_routes import job_at
from .keeping import keep
from .logs import keep_lines
from .new_job import add_job
from .problem import Problem, invalid
from .settle import held
from .shapes import checked
from .store import StoredSignal
from .workflow_routes import workflow_at

_NAME_MAX_LENGTH = 200
_MOST_CHILDREN = 1_000
_WEEK_SECS = 604_800
_MOST_TTL_SECS = 2_592_000
_FOR_EVER = 1 << 62


def _lease_lost() -> Problem:
    return Problem(409, "lease_lost", "the lease is no longer held")


def _name(field: str, value: str) -> str:
    if not 1 <= len(value) <= _NAME_MAX_LENGTH:
        raise invalid(f"{field} must have 1 to {_NAME_MAX_LENGTH} characters")
    return value


def _store(request: FakeRequest) -> Reply:
    given = checked(request.body, CheckpointRequest)
    name = _name("name", given["name"])
    job = held(request.store, request.params[0], given["lease_token"])
    if job is None:
        raise _lease_lost()
    value, is_new = keep(request.store, job, name, given["value"])
    return (201 if is_new else 200), {"name": name, "value": value}


def _list(request: FakeRequest) -> Reply:
    job, clock = job_at(request), request.store.clock
    token = next((value for name, value in request.headers.items() if name.lower() == "lease-token"), None)
    if token is not None and token != job.token:
        raise _lease_lost()
    waits = [{"name": wait.checkpoint, "until": clock.text(wait.until)} for wait in job.suspensions.values()]
    return 200, {"checkpoints": list(job.checkpoints.values()), "waits": waits}


def _suspend(request: FakeRequest) -> Reply:
    given = checked(request.body, SuspendRequest)
    job = held(request.store, request.params[0], given["lease_token"])
    if job is not None:
        keep_lines(request.store, job, given.get("logs"))
        suspend_job(request.store, job, given)
    return 204, None


def _children(request: FakeRequest) -> Reply:
    given, store = checked(request.body, ChildrenRequest), request.store
    if not 1 <= len(given["jobs"]) <= _MOST_CHILDREN:
        raise invalid(f"jobs must have 1 to {_MOST_CHILDREN} items")
    parent = held(store, request.params[0], given["lease_token"])
    if parent is None:
        raise _lease_lost()
    return 201, {"job_ids": add_children(store, parent, given["jobs"], lambda job: add_job(store, job, None).id)}


def _accepted(request: FakeRequest, signal: StoredSignal) -> Reply:
    kind = f"signal {signal.name} {signal.key}"
    return 202, once(request, kind, lambda _: {"delivered": send_signal(request.store, signal)})[1]


def _signal(request: FakeRequest) -> Reply:
    given = checked(request.body, SignalRequest)
    ttl = given.get("ttl_secs")
    if ttl is not None and not 1 <= ttl <= _MOST_TTL_SECS:
        raise invalid(f"ttl_secs must be between 1 and {_MOST_TTL_SECS}")
    ends_at = request.store.clock.now + (ttl or _WEEK_SECS) * 1_000_000
    name, key = _name("name", given["name"]), _name("key", given["key"])
    return _accepted(request, StoredSignal(name, key, given.get("value"), ends_at))


def _signal_job(request: FakeRequest) -> Reply:
    job = job_at(request)
    if job.has_ended:
        raise Problem(409, "already_finished", f"the job is {job.record['status']} already")
    given = checked(request.body or {}, JobSignalRequest)
    name = _name("name", request.params[1])
    return _accepted(request, StoredSignal(name, job.record["id"], given.get("value"), _FOR_EVER))


def _signal_workflow(request: FakeRequest) -> Reply:
    workflow = workflow_at(request)
    if workflow.has_ended:
        raise Problem(409, "already_finished", f"the workflow is {workflow.record['status']} already")
    given = checked(request.body or {}, JobSignalRequest)
    name = _name("name", request.params[1])
    return _accepted(request, StoredSignal(name, workflow.record["id"], given.get("value"), _FOR_EVER))


def _waits(request: FakeRequest) -> Reply:
    """All on one page: tests have few."""
    query, clock = request.query, request.store.clock
    found: list[tuple[int, dict[str, Any]]] = []
    for job in request.store.jobs.values():
        for wait in job.open_waits:
            is_wanted = query.get("name", wait.signal) == wait.signal and query.get("key", wait.key) == wait.key
            if wait.signal is None or not is_wanted or (query.get("ask") == "true" and wait.ask is None):
                continue
            shown: dict[str, Any] = {
                "job_id": job.record["id"],
                "task_name": job.record["task_name"],
                "name": wait.signal,
                "key": wait.key,
                "ask": wait.ask,
                "since": clock.text(wait.since),
                "until": clock.text(wait.until),
                "workflow_id": job.record["workflow_id"],
                "workflow_step_id": job.record["workflow_step_id"],
            }
            found.append((wait.since, shown))
    found.reverse()
    found.sort(key=lambda each: -each[0])
    return 200, {"waits": [shown for _, shown in found], "has_more": False}


DURABLE_ROUTES: list[tuple[str, str, Route]] = [
    ("POST", "/jobs/:id/checkpoints", _store),
    ("GET", "/jobs/:id/checkpoints", _list),
    ("POST", "/jobs/:id/suspend", _suspend),
    ("POST", "/jobs/:id/children", _children),
    ("POST", "/jobs/:id/signals/:name", _signal_job),
    ("POST", "/workflows/:id/signals/:name", _signal_workflow),
    ("POST", "/signals", _signal),
    ("GET", "/waits", _waits),
]
