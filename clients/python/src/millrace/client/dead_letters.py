"""Jobs that failed for good: `client.dead_letters`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..tasks.handles import JobHandle
from ..tasks.policy import instant
from ..tasks.task import BaseTask
from ..wire.types import DeadLetter, DeadLetterGroup, DeadLetterReason
from .job_handle import RemoteJob
from .keeping import Kept, keeping
from .listing import Listing, list_query, task_name
from .session import Session


class DeadLetters:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, letter_id: int) -> DeadLetter:
        letter: DeadLetter = self._session.read(f"/dlq/{int(letter_id)}")
        return letter

    def list(
        self,
        *,
        queue: str | None = None,
        task: BaseTask[..., Any] | str | None = None,
        reason: DeadLetterReason | None = None,
        replayed: bool | None = None,
        job_id: str | None = None,
        fingerprint: str | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Listing[DeadLetter]:
        """Dead letters, the newest first."""
        query = list_query(
            limit,
            oldest_first,
            created_after,
            created_before,
            queue_name=queue,
            task_name=task_name(task),
            reason=reason,
            replayed=replayed,
            job_id=job_id,
            fingerprint=fingerprint,
        )
        return Listing("dead_letters", limit, lambda cursor: self._session.read("/dlq", {**query, "cursor": cursor}))

    def groups(
        self,
        *,
        since: datetime | None = None,
        queue: str | None = None,
        task: BaseTask[..., Any] | str | None = None,
        replayed: bool | None = None,
        limit: int | None = None,
    ) -> Listing[DeadLetterGroup]:
        """The same failures together: one group per task, reason and kind of error, the latest first."""
        query = {
            "limit": list_query(limit)["limit"],
            "since": None if since is None else instant(since),
            "queue_name": queue,
            "task_name": task_name(task),
            "replayed": replayed,
        }
        return Listing("groups", limit, lambda cursor: self._session.read("/dlq/groups", {**query, "cursor": cursor}))

    def replay(
        self, letter_id: int, *, keep_checkpoints: Kept = False, key: str | None = None
    ) -> JobHandle[dict[str, Any]]:
        """Creates a fresh job from a dead letter, once. Raises AlreadyReplayedError if it has been replayed before.

        One of a durable job goes on after the steps that completed if `keep_checkpoints` is true, or a list of their
        names.
        """
        path = f"/dlq/{int(letter_id)}/replay"
        # An entry can be replayed only once, so a repeat does no harm on a server that ignores the key.
        created = self._session.create(path, keeping(keep_checkpoints), key=key, done_if=("already_replayed",))
        # Without an answer of its own, a try took effect: the entry says which job it made.
        job_id = self.get(letter_id)["replay_job_id"] if created is None else created["job_id"]
        return RemoteJob(self._session, job_id or "", lambda result: result)
