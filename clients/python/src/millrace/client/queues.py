"""Queues and who works on them: `client.queues`."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.types import LimitUse, QueueDepth, QueueDetail, Worker
from .listing import Listing
from .session import Session, segment


class Queues:
    def __init__(self, session: Session) -> None:
        self._session = session

    def list(self, *, idle: bool = False) -> Listing[QueueDepth]:
        """The queues that hold unfinished jobs of the caller's, in the order of their names.

        With `idle` also those that hold none, as far as the service remembers them.
        """
        chosen = True if idle else None
        return Listing("queues", None, lambda cursor: self._session.read("/queues", {"idle": chosen, "cursor": cursor}))

    def get(self, name: str) -> QueueDetail:
        """A queue, with what is on it and what comes next."""
        queue: QueueDetail = self._session.read(f"/queues/{segment(name)}")
        return queue

    def limits(self, queue: str | None = None) -> Listing[LimitUse]:
        """The keys that unfinished jobs name as limits, by queue and key; of one queue, or of all."""
        return Listing("limits", None, lambda cursor: self._session.read("/limits", {"queue": queue, "cursor": cursor}))

    def workers(self) -> Sequence[Worker]:
        """The workers that held the caller's jobs in the last hour, the last seen first."""
        workers: Sequence[Worker] = self._session.read("/workers")["workers"]
        return workers
