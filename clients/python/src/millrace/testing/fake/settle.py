"""What changes the state of a job, by the service's own rules."""

from __future__ import annotations

import json
import math
import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any

from .children import family_ended
from .keeping import keep
from .limits import has_room, take_tokens
from .problem import Problem, not_found
from .store import Store, StoredJob, instant
from .workflows import mark_started, step_ended

_NOT_RUNNING: dict[str, Any] = {"worker_id": None, "lease_expires_at": None, "progress": None}


def claim(
    store: Store,
    *,
    most: int,
    lease_secs: int,
    worker_id: str | None,
    queue: str | None = None,
    tasks: Collection[str] | None = None,
) -> list[StoredJob]:
    """Hands out due jobs whose limits have room: by priority, then by when they were due, then by age."""
    now = store.clock.now
    due = _due(store, queue, tasks)
    due.sort(key=lambda job: (-job.record["config"]["priority"], job.due_at, job.ordinal))
    claimed: list[StoredJob] = []
    for job in due:
        if len(claimed) == most:
            break
        if not has_room(store, job):
            continue
        claimed.append(job)
        take_tokens(store, job)
        job.token = str(uuid.uuid4())
        job.lease_ends = now + lease_secs * 1_000_000
        _show_wait(job, None)
        store.change(
            job,
            status="running",
            delivery_count=job.record["delivery_count"] + 1,
            started_at=store.clock.text(),
            next_retry_at=None,
            worker_id=worker_id,
            lease_expires_at=store.clock.text(job.lease_ends),
        )
        mark_started(store, job)
    return claimed


def is_claimable(store: Store, queue: str) -> bool:
    """Whether there is a job to hand out."""
    return any(has_room(store, job) for job in _due(store, queue, None))


def _due(store: Store, queue: str | None, tasks: Collection[str] | None) -> list[StoredJob]:
    now = store.clock.now
    return [job for job in store.jobs.values() if job.waits and job.due_at <= now and _is_wanted(job, queue, tasks)]


def _is_wanted(job: StoredJob, queue: str | None, tasks: Collection[str] | None) -> bool:
    if queue is not None and job.record["queue_name"] != queue:
        return False
    return tasks is None or job.record["task_name"] in tasks


def complete(store: Store, job: StoredJob, result: dict[str, Any]) -> None:
    _end(store, job, status="completed", result=result)


def fail(
    store: Store,
    job: StoredJob,
    error: str,
    retryable: bool = True,
    after_secs: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> None:
    _show(job, error_details=details or None)
    retries, config = job.record["retry_count"], job.record["config"]
    if not retryable:
        _die(store, job, "non_retryable", error)
    elif retries >= config["max_retries"]:
        _die(store, job, "max_attempts_exceeded", error)
    else:
        delay = _retry_delay(config, retries) if after_secs is None else after_secs
        job.due_at = store.clock.now + int(delay * 1_000_000)
        at = store.clock.text(job.due_at)
        job.token = None
        store.change(
            job,
            **{**_NOT_RUNNING, "error_message": error, "status": "retrying"},
            retry_count=retries + 1,
            scheduled_at=at,
            next_retry_at=at,
        )


def release(store: Store, job: StoredJob, delay_secs: int) -> None:
    """Back to the queue: the delivery counts, the retry does not."""
    suspend(store, job, store.clock.now + delay_secs * 1_000_000, None)


def suspend(store: Store, job: StoredJob, due_at: int, waiting_for: dict[str, Any] | None) -> None:
    """The same, to wait for something."""
    job.due_at = due_at
    at = store.clock.text(job.due_at)
    has_failed = job.record["retry_count"] > 0
    job.token = None
    status = "retrying" if has_failed else "pending"
    _show_wait(job, waiting_for)
    store.change(job, **_NOT_RUNNING, status=status, scheduled_at=at, next_retry_at=at if has_failed else None)


def _show_wait(job: StoredJob, waiting_for: dict[str, Any] | None) -> None:
    """The record has the field while the job waits, and only then."""
    _show(job, waiting_for=waiting_for)


def _show(job: StoredJob, **fields: Any) -> None:
    """Fields that a record has only if there is something to show."""
    job.record = {name: value for name, value in job.record.items() if name not in fields}
    job.record.update({name: value for name, value in fields.items() if value is not None})


def cancel(store: Store, job: StoredJob) -> None:
    _end(store, job, status="cancelled")


def expire_jobs(store: Store) -> None:
    """Jobs that nobody began in time are cancelled."""
    for job in list(store.jobs.values()):
        record = job.record
        if record["status"] == "pending" and record["delivery_count"] == 0 and _expiry_of(record) <= store.clock.now:
            _end(store, job, status="cancelled", error_message="expired before it started")


def _expiry_of(record: Mapping[str, Any]) -> float:
    config = record["config"]
    if config.get("expires_at") is not None:
        return instant(config["expires_at"])
    secs = config.get("expires_secs")
    return math.inf if secs is None else instant(record["created_at"]) + secs * 1_000_000


def expire_leases(store: Store) -> None:
    """Leases that have run out count as failures."""
    for job in list(store.jobs.values()):
        if job.record["status"] == "running" and job.lease_ends <= store.clock.now:
            fail(store, job, "lease expired")


def held(store: Store, job_id: str, token: str) -> StoredJob | None:
    """The job that a worker speaks of, if the token is that of its lease. None: it has ended, and nothing changes."""
    job = store.jobs.get(job_id)
    if job is None:
        raise not_found("job")
    if job.has_ended:
        return None
    if job.record["status"] != "running" or job.token != token:
        raise Problem(409, "lease_lost", "the lease is no longer held")
    return job


def _die(store: Store, job: StoredJob, reason: str, error: str) -> None:
    record = job.record
    shape = re.sub(r"\d+", "#", error.split("\n", 1)[0])
    store.letters.append(
        {
            "id": len(store.letters) + 1,
            "job_id": record["id"],
            "queue_name": record["queue_name"],
            "task_name": record["task_name"],
            "reason": reason,
            "error_message": error,
            "created_at": store.clock.text(),
            "replayed_at": None,
            "replay_job_id": None,
            "tenant_id": record["tenant_id"],
            "payload_bytes": len(json.dumps(record["payload"])),
            "retry_count": record["retry_count"],
            "fingerprint": f"{record['task_name']}:{reason}:{shape}",
        }
    )
    _end(store, job, status="failed", error_message=error)


def _end(store: Store, job: StoredJob, **fields: Any) -> None:
    job.token = None
    _show_wait(job, None)
    store.change(job, **{**_NOT_RUNNING, **fields, "next_retry_at": None, "completed_at": store.clock.text()})
    step_ended(store, job, lambda other: cancel(store, other))
    family_ended(
        store, job, lambda parent, name, ends: _wake(store, parent, name, ends), lambda child: cancel(store, child)
    )


def _wake(store: Store, parent: StoredJob, name: str, ends: dict[str, Any]) -> None:
    keep(store, parent, name, ends)
    if parent.waits:
        suspend(store, parent, min(parent.due_at, store.clock.now), None)


def _retry_delay(config: dict[str, Any], retries: int) -> float:
    """As the service computes it, without the jitter: tests want to know when."""
    delay = config["retry_delay_secs"]
    grown = {"fixed": delay, "linear": delay * (retries + 1)}.get(config["retry_backoff"], delay * 2.0**retries)
    return float(min(grown, config["retry_max_delay_secs"]))
