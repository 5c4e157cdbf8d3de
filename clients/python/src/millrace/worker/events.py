"""What a worker tells its program as it happens."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..tasks.context import RunningJob

EventType = Literal[
    "started",
    "completed",
    "failed",
    "cancelled",
    "lease_lost",
    "released",
    "suspended",
    "polling",
    "draining",
    "stopped",
]


@dataclass(frozen=True)
class WorkerEvent:
    """`secs` is how long the attempt ran, or how long the stop took."""

    type: EventType
    job: RunningJob | None = None
    secs: float | None = None
    error: BaseException | str | None = None


@dataclass
class WorkerSummary:
    """How the jobs of a worker ended; what was cancelled, lost or suspended is in none of them."""

    completed: int = 0
    failed: int = 0
    released: int = 0


class EventSink:
    """Passes events on and counts them. A listener that raises does no harm."""

    def __init__(self, listener: Callable[[WorkerEvent], None] | None, logger: logging.Logger) -> None:
        self.summary = WorkerSummary()
        self._listener = listener
        self._logger = logger
        self._lock = threading.Lock()

    def count(self, word: Literal["completed", "failed", "released"]) -> None:
        with self._lock:
            setattr(self.summary, word, getattr(self.summary, word) + 1)

    def emit(
        self,
        kind: EventType,
        job: RunningJob | None = None,
        secs: float | None = None,
        error: BaseException | str | None = None,
    ) -> None:
        if self._listener is None:
            return
        try:
            self._listener(WorkerEvent(kind, job, secs, error))
        except Exception:
            self._logger.exception("on_event raised")
