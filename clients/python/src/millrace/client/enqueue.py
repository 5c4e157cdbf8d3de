"""Creating jobs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, TypeVar

from ..errors.call_errors import refused
from ..exactjson.text import read, write
from ..http.connections import Line
from ..shared.durations import whole_seconds
from ..shared.uuid7 import uuid7
from ..tasks.call import Call
from ..tasks.conversion import to_json
from ..tasks.policy import DEFAULT_QUEUE, Options, instant
from ..wire.types import CreateJob, JobBatchCreated, JobCreated
from .job_handle import RemoteJob
from .session import Session

R = TypeVar("R")

_MOST_JOBS = 1000


def enqueue(session: Session, call: Call[R], line: Line | None = None) -> RemoteJob[R]:
    """Creates one job."""
    created: JobCreated = session.create("/jobs", job_body(session, call), key=call.merged.key, line=line)
    return RemoteJob(session, created["job_id"], call.task.result_of)


def enqueue_many(
    session: Session, calls: Sequence[Call[R]], key: str | None, line: Line | None = None
) -> list[RemoteJob[R]]:
    """Creates up to a thousand jobs, all of them or none."""
    if not calls:
        return []
    if len(calls) > _MOST_JOBS:
        raise refused(f"a batch has at most {_MOST_JOBS} jobs, not {len(calls)}")
    jobs = [job_body(session, call) for call in calls]
    feature = "idempotency"
    keyed = next((number for number, call in enumerate(calls) if call.options.key is not None), None)
    if keyed is not None:
        if key is not None:
            raise refused(
                f"the call {keyed} has a key, and so has the batch: give either the calls keys or the batch one"
            )
        # Each job under a key, that of its call or one of its own, so that the batch can be repeated.
        for job, call in zip(jobs, calls, strict=True):
            job["idempotency_key"] = call.options.key or uuid7()
        feature = "item_keys"
    created: JobBatchCreated = session.create(
        "/jobs/batch", {"jobs": jobs}, key=key, has_key=keyed is None, key_feature=feature, line=line
    )
    return [
        RemoteJob(session, job_id, call.task.result_of) for job_id, call in zip(created["job_ids"], calls, strict=True)
    ]


def json_of(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as JSON. Raises TypeError or ValueError for what is not."""
    converted: dict[str, Any] = read(write(payload, to_json))
    return converted


def job_body(session: Session, call: Call[Any]) -> CreateJob:
    """The body that creates one job. Arguments are sent as they were given: the worker applies defaults."""
    options = call.merged
    payload = json_of(call.payload)
    config: Any = {"queue": options.queue or DEFAULT_QUEUE, **options.config(payload)}
    body: CreateJob = {"task_name": call.task.name, "payload": payload, "config": config}
    _set_time(session, body, options)
    metadata = session.metadata(call.task.name, options.metadata)
    if metadata:
        body["metadata"] = metadata
    return body


def _set_time(session: Session, body: CreateJob, options: Options) -> None:
    """A server before 0.3 knows no delay: it is told an instant by this machine's clock."""
    if options.run_at is not None:
        body["run_at"] = instant(options.run_at)
    elif options.delay is not None:
        seconds = whole_seconds(options.delay)
        if session.features.any():
            body["delay_secs"] = seconds
        else:
            body["run_at"] = instant(datetime.now(timezone.utc) + timedelta(seconds=seconds))
