"""Jobs by id, and lists of them: `client.jobs`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from ..tasks.handles import JobHandle
from ..tasks.task import BaseTask
from ..wire.types import Attempts, Checkpoint, Job, JobStatus, Why
from .job_handle import RemoteJob, cancel_job, get_job
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
        task: BaseTask[..., Any] | str | None = None,
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
            task=task_name(task),
            workflow_id=workflow_id,
            parent_job_id=parent_job_id,
            idempotency_key=key,
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

    def rerun(self, job_id: str, *, key: str | None = None) -> JobHandle[dict[str, Any]]:
        """Creates a fresh copy of a job, with a full set of retries."""
        created = self._session.create(f"/jobs/{segment(job_id)}/rerun", key=key, key_feature="idempotency")
        return RemoteJob(self._session, created["job_id"], _same)

    def attempts(self, job_id: str) -> Attempts:
        """How its deliveries went: the first twenty and the last twenty."""
        attempts: Attempts = self._session.read(f"/jobs/{segment(job_id)}/attempts")
        return attempts

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
