"""The worker protocol of the fake server."""

from __future__ import annotations

from typing import Any

from ...wire.types import (
    CompleteRequest,
    FailRequest,
    HeartbeatRequest,
    HeartbeatsRequest,
    LeaseRequest,
    ReleaseRequest,
    Report,
    ReportsRequest,
)
from .durable import suspend_job
from .exchange import FakeRequest, Reply, Route
from .logs import keep_lines
from .problem import Problem, invalid
from .settle import claim, complete, fail, held, is_claimable, release
from .shapes import checked
from .step_rules import WAITS_QUEUE
from .store import TENANT, Store

_FEATURES = [
    *("reports", "heartbeats", "release", "progress", "wait", "idempotency", "item_keys", "strict", "durable"),
    *("step_rules", "logs"),
]


def _clamped(value: int | None, low: int, high: int, absent: int) -> int:
    return absent if value is None else min(high, max(low, value))


def _lease(request: FakeRequest) -> Reply:
    given, store, queue = checked(request.body or {}, LeaseRequest), request.store, request.params[0]
    if queue == WAITS_QUEUE:
        raise invalid(f"queue must not be {queue}: nobody leases from it")

    store.wait(
        lambda: is_claimable(store, queue), _clamped(given.get("wait_secs"), 0, 30, 0), request.timeout, request.line
    )
    claimed = claim(
        store,
        queue=queue,
        most=_clamped(given.get("max_jobs"), 1, 100, 1),
        lease_secs=_clamped(given.get("lease_secs"), 1, 3600, 30),
        worker_id=given.get("worker_id"),
    )
    return 200, {"jobs": [{"job": job.record, "lease_token": job.token} for job in claimed]}


def _beat(store: Store, job_id: str, given: dict[str, Any], extend_secs: int | None) -> str:
    job = held(store, job_id, given["lease_token"])
    if job is None:
        return str(store.jobs[job_id].record["status"])
    job.lease_ends = store.clock.now + _clamped(extend_secs, 1, 3600, 30) * 1_000_000
    keep_lines(store, job, given.get("logs"))
    progress = given.get("progress")
    said = job.record["progress"] if progress is None else progress
    store.change(job, lease_expires_at=store.clock.text(job.lease_ends), progress=said)
    return "running"


def _heartbeat(request: FakeRequest) -> Reply:
    given = checked(request.body, HeartbeatRequest)
    return 200, {"status": _beat(request.store, request.params[0], given, given.get("extend_secs"))}


def _heartbeats(request: FakeRequest) -> Reply:
    given = checked(request.body, HeartbeatsRequest)
    answers: list[dict[str, Any]] = []
    for lease in given["leases"]:
        job_id = lease["job_id"]
        try:
            status = _beat(request.store, job_id, lease, given.get("extend_secs"))
            answers.append({"job_id": job_id, "status": status})
        except Problem as problem:
            answers.append({"job_id": job_id, "code": problem.code, "error": str(problem)})
    return 200, {"leases": answers}


def _report(store: Store, job_id: str, outcome: str, given: dict[str, Any]) -> None:
    """Reports on a job that has ended change nothing."""
    job = held(store, job_id, given["lease_token"])
    if job is None:
        return
    keep_lines(store, job, given.get("logs"))
    if outcome == "completed":
        complete(store, job, given.get("result") or {})
    elif outcome == "failed":
        retryable, after_secs = given.get("retryable") is not False, given.get("retry_after_secs")
        fail(store, job, given["error"], retryable, after_secs, given.get("details"))
    elif outcome == "released":
        release(store, job, given.get("delay_secs") or 0)
    else:
        if "checkpoint" not in given:
            raise invalid("checkpoint is required")
        suspend_job(store, job, given)


def _single(outcome: str, shape: Any) -> Route:
    def route(request: FakeRequest) -> Reply:
        _report(request.store, request.params[0], outcome, checked(request.body, shape))
        return 204, None

    return route


def _reports(request: FakeRequest) -> Reply:
    given = checked(request.body, ReportsRequest)
    answers: list[dict[str, Any]] = []
    for report in given["reports"]:
        try:
            _report(request.store, report["job_id"], checked(report, Report)["outcome"], report)
            answers.append({"job_id": report["job_id"], "ok": True})
        except Problem as problem:
            answers.append({"job_id": report["job_id"], "code": problem.code, "error": str(problem)})
    return 200, {"reports": answers}


def _whoami(request: FakeRequest) -> Reply:
    return 200, {
        **{"kind": "developer", "tenant_id": TENANT, "read_only": False, "dev": True, "version": "0.2.0"},
        **{"default_queue": "default", "retention_hours": None, "now": request.store.clock.text()},
        "trace_url": None,
        "features": _FEATURES,
    }


WORKER_ROUTES: list[tuple[str, str, Route]] = [
    ("POST", "/queues/:queue/lease", _lease),
    ("POST", "/jobs/:id/heartbeat", _heartbeat),
    ("POST", "/jobs/:id/complete", _single("completed", CompleteRequest)),
    ("POST", "/jobs/:id/fail", _single("failed", FailRequest)),
    ("POST", "/jobs/:id/release", _single("released", ReleaseRequest)),
    ("POST", "/heartbeats", _heartbeats),
    ("POST", "/reports", _reports),
    ("GET", "/whoami", _whoami),
]
