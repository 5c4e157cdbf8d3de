"""Jobs by id, and lists of them: `client.jobs`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from ..http.connections import Line
from ..shared.durations import Duration
from ..shared.off_loop import off_loop
from ..tasks.handles import JobHandle
from ..tasks.task import BaseTask
from ..wire.types import Attempts, Checkpoint, Job, JobLogs, JobStatus, LogLine, Why
from .job_handle import RemoteJob, cancel_job, get_job
from .job_logs import follow_logs, log_page
from .keeping import Kept, keeping
from .listing import Listing, joined, list_query, task_name
from .session import Session, segment

R = TypeVar("R")


class Jobs:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, job_id: str) -> Job:
        """The record of a job."""
        return get_job(self._session, job_id)

    def handle(self, task: BaseTask[..., R], job_id: str) -> JobHandle[R]:
        """A job that was created elsewhere, with the type of its result. Makes no call."""
        return RemoteJob(self._session, job_id, task.result_of)

    def list(
        self,
        *,
        status: JobStatus | Sequence[JobStatus] | None = None,
        queue: str | None = None,
        due: bool | None = None,
        task: BaseTask[..., Any] | str | None = None,
        error: str | None = None,
        metadata: Mapping[str, str] | None = None,
        workflow_id: str | None = None,
        parent_job_id: str | None = None,
        key: str | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
        include_total: bool = False,
    ) -> Listing[Job]:
        """Jobs, the newest first; with `parent_job_id`, those that a job has created.

        `due` finds jobs that wait and are due, or are not due yet; `error` finds failed and retrying jobs by a part of
        their error, in capital or small letters; `metadata` finds jobs by one field with its whole value, as in
        `metadata={"source": "signup"}`.

        >>> for job in client.jobs.list(status="failed", queue="emails"): ...  # doctest: +SKIP
        """
        query = list_query(
            limit,
            oldest_first,
            created_after,
            created_before,
            include_total,
            status=joined(status),
            queue=queue,
            due=due,
            task=task_name(task),
            error=error,
            workflow_id=workflow_id,
            parent_job_id=parent_job_id,
            idempotency_key=key,
            **{f"metadata.{field}": value for field, value in (metadata or {}).items()},
        )
        return Listing("jobs", limit, lambda cursor: self._session.read("/jobs", {**query, "cursor": cursor}))

    def cancel(self, job_id: str) -> None:
        """Cancels a job: one that waits never runs, one that runs is told with its next heartbeat.

        Raises AlreadyFinishedError if it has ended.
        """
        cancel_job(self._session, job_id)

    def run_now(self, job_id: str) -> None:
        """Makes a job due that is scheduled or waits for its next try."""
        self._session.change("POST", f"/jobs/{segment(job_id)}/run-now")

    def rerun(
        self, job_id: str, *, keep_checkpoints: Kept = False, key: str | None = None
    ) -> JobHandle[dict[str, Any]]:
        """Creates a fresh copy of a job, with a full set of retries.

        One of a durable job goes on after the steps that completed if `keep_checkpoints` is true, or a list of their
        names.
        """
        path = f"/jobs/{segment(job_id)}/rerun"
        created = self._session.create(path, keeping(keep_checkpoints), key=key, key_feature="idempotency")
        return RemoteJob(self._session, created["job_id"], _same)

    def attempts(self, job_id: str) -> Attempts:
        """How its deliveries went: the first twenty and the last twenty."""
        attempts: Attempts = self._session.read(f"/jobs/{segment(job_id)}/attempts")
        return attempts

    def logs(self, job_id: str, *, attempt: int | None = None, after: str | None = None, wait: Duration = 0) -> JobLogs:
        """What its handlers wrote, one page of it: pass `next` as `after` to go on.

        Without `next` the job has ended and there are no more lines. With `wait`, a call that finds none waits for
        some.
        """
        return log_page(self._session, job_id, attempt, after, wait)

    def follow_logs(self, job_id: str, *, attempt: int | None = None) -> Iterator[LogLine]:
        """What its handlers wrote and will write, line by line, until the job has ended.

        >>> for line in client.jobs.follow_logs(job.id): print(line["message"])  # doctest: +SKIP
        """
        return follow_logs(self._session, job_id, attempt, Line())

    async def afollow_logs(self, job_id: str, *, attempt: int | None = None) -> AsyncIterator[LogLine]:
        """The same, for asyncio."""
        line = Line()
        lines = follow_logs(self._session, job_id, attempt, line)
        try:
            while (each := await off_loop(lambda: next(lines, None), line.cut)) is not None:
                yield each
        finally:
            line.cut()

    def checkpoints(self, job_id: str) -> Sequence[Checkpoint]:
        """What a durable job has stored, in the order in which it did."""
        stored: Sequence[Checkpoint] = self._session.read(f"/jobs/{segment(job_id)}/checkpoints")["checkpoints"]
        return stored

    def why(self, job_id: str) -> Why:
        """What a job waits for, in one sentence."""
        why: Why = self._session.read(f"/jobs/{segment(job_id)}/why")
        return why


def _same(result: Any) -> dict[str, Any]:
    same: dict[str, Any] = result
    return same
