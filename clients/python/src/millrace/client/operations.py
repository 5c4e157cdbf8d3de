"""Bulk work: `client.operations`. At most five run at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ..tasks.policy import instant
from ..tasks.task import BaseTask
from ..wire.types import DeadLetterReason, DryRun, JobStatus, Operation, ReplayRequest, WorkflowStatus
from .keeping import Kept, keeping
from .listing import Listing, joined, task_name
from .session import Session, segment


class JobFilter(dict[str, Any]):
    """Which jobs a bulk operation changes.

    `due` says whether jobs that wait are due; `error` is part of the error of failed and retrying jobs, in capital or
    small letters; `metadata` is one field with its whole value.
    """

    def __init__(
        self,
        *,
        status: JobStatus | Sequence[JobStatus] | None = None,
        queue: str | None = None,
        due: bool | None = None,
        task: BaseTask[..., Any] | str | None = None,
        error: str | None = None,
        metadata: Mapping[str, str] | None = None,
        workflow_id: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> None:
        super().__init__(
            _given(
                status=joined(status),
                queue=queue,
                due=due,
                task=task_name(task),
                error=error,
                metadata=None if metadata is None else dict(metadata),
                workflow_id=workflow_id,
                created_after=None if created_after is None else instant(created_after),
                created_before=None if created_before is None else instant(created_before),
            )
        )


class DeadLetterFilter(dict[str, Any]):
    """Which dead letters a bulk operation changes."""

    def __init__(
        self,
        *,
        queue: str | None = None,
        task: BaseTask[..., Any] | str | None = None,
        reason: DeadLetterReason | None = None,
        replayed: bool | None = None,
        fingerprint: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> None:
        super().__init__(
            _given(
                queue_name=queue,
                task_name=task_name(task),
                reason=reason,
                replayed=replayed,
                fingerprint=fingerprint,
                created_after=None if created_after is None else instant(created_after),
                created_before=None if created_before is None else instant(created_before),
            )
        )


class WorkflowFilter(dict[str, Any]):
    """Which workflows a bulk operation changes."""

    def __init__(
        self,
        *,
        status: WorkflowStatus | None = None,
        name: str | None = None,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> None:
        super().__init__(
            _given(
                status=status,
                name=name,
                created_after=None if created_after is None else instant(created_after),
                created_before=None if created_before is None else instant(created_before),
            )
        )


class Operations:
    def __init__(self, session: Session) -> None:
        self._session = session

    def cancel_jobs(self, selected: JobFilter | Sequence[str], *, key: str | None = None) -> Operation:
        """Cancels every job that matches, or has one of these ids. What is created later is never touched."""
        return self._start("cancel_jobs", selected, key)

    def run_jobs_now(self, selected: JobFilter | Sequence[str], *, key: str | None = None) -> Operation:
        """Makes every waiting job due now that matches, or has one of these ids.

        Those that wait for a signal, for children or for the end of a sleep are left alone.
        """
        return self._start("run_jobs_now", selected, key)

    def rerun_jobs(self, selected: JobFilter | Sequence[str], *, key: str | None = None) -> Operation:
        """Creates every ended job anew that matches, or has one of these ids."""
        return self._start("rerun_jobs", selected, key)

    def replay_dead_letters(
        self,
        selected: DeadLetterFilter | Sequence[int],
        *,
        keep_checkpoints: Kept = False,
        key: str | None = None,
    ) -> Operation:
        """Replays every dead letter that matches, or has one of these ids.

        With `keep_checkpoints`, copies of durable jobs go on after the steps that completed.
        """
        return self._start("replay_dead_letters", selected, key, keeping(keep_checkpoints))

    def resume_workflows(self, selected: WorkflowFilter | Sequence[str], *, key: str | None = None) -> Operation:
        """Resumes every workflow that matches, from the steps that failed or were cancelled.

        Without a status: those that failed as a whole or in part.
        """
        return self._start("resume_workflows", selected, key)

    def preview_cancel_jobs(self, selected: JobFilter | Sequence[str]) -> DryRun:
        """What `cancel_jobs` would cancel."""
        return self._preview("cancel_jobs", selected)

    def preview_run_jobs_now(self, selected: JobFilter | Sequence[str]) -> DryRun:
        """What `run_jobs_now` would make due."""
        return self._preview("run_jobs_now", selected)

    def preview_rerun_jobs(self, selected: JobFilter | Sequence[str]) -> DryRun:
        """What `rerun_jobs` would create anew."""
        return self._preview("rerun_jobs", selected)

    def preview_replay_dead_letters(self, selected: DeadLetterFilter | Sequence[int]) -> DryRun:
        """What `replay_dead_letters` would replay."""
        return self._preview("replay_dead_letters", selected)

    def preview_resume_workflows(self, selected: WorkflowFilter | Sequence[str]) -> DryRun:
        """What `resume_workflows` would resume."""
        return self._preview("resume_workflows", selected)

    def get(self, operation_id: str) -> Operation:
        operation: Operation = self._session.read(f"/operations/{segment(operation_id)}")
        return operation

    def list(self, *, limit: int | None = None) -> Listing[Operation]:
        """Operations, the newest first."""
        return Listing("operations", limit, lambda cursor: self._session.read("/operations", {"cursor": cursor}))

    def stop(self, operation_id: str) -> None:
        """Ends an operation early; what it has done stays done."""
        path = f"/operations/{segment(operation_id)}/stop"
        self._session.change("POST", path, done_if=("already_finished",))

    def _start(self, action: str, selected: Any, key: str | None, kept: ReplayRequest | None = None) -> Operation:
        created = self._session.create("/operations", {**_request(action, selected), **(kept or {})}, key=key)
        return self.get(created["operation_id"])

    def _preview(self, action: str, selected: Any) -> DryRun:
        found: DryRun = self._session.change("POST", "/operations", {**_request(action, selected), "dry_run": True})
        return found


def _request(action: str, selected: Any) -> dict[str, Any]:
    if isinstance(selected, dict):
        return {"action": action, "filter": selected}
    return {"action": action, "ids": [str(each) for each in selected]}


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
