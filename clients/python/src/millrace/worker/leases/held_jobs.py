"""The jobs that a worker holds."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Any

from .beat_loop import HeldLease
from .claimed_job import ClaimedJob
from .log_buffer import LogBuffer
from .slots import Slots
from .stop_switch import StopSwitch


class HeldJob:
    """A job from its claim until its report is answered or it is lost."""

    __slots__ = (
        "deadline",
        "is_mentioned",
        "job",
        "judged",
        "lease",
        "logs",
        "payload",
        "reporting",
        "slots",
        "started_at",
        "stop",
        "timeout",
    )

    def __init__(
        self,
        lease: HeldLease,
        job: ClaimedJob,
        payload: Mapping[str, Any],
        timeout: float,
        slots: Slots,
        deadline: float,
    ) -> None:
        self.lease = lease
        self.job = job
        self.payload = payload
        self.timeout = timeout
        self.slots = slots
        #: When the lease expires, by the monotonic clock.
        self.deadline = deadline
        self.stop = StopSwitch()
        self.started_at = time.monotonic()
        #: Whether its outcome is on the way to the server: from then on only the reporter decides.
        self.reporting = False
        #: Whether it is known how it ends.
        self.judged = False
        #: Whether it was said that its handler ignores that it was told to stop.
        self.is_mentioned = False
        #: What its handler wrote and has not been sent; None: nothing.
        self.logs: LogBuffer | None = None

    def left(self) -> float:
        """How many seconds the attempt may go on."""
        return self.started_at + self.timeout - time.monotonic()


class HeldJobs:
    """Every job that this worker holds, by the numbers that the keeper knows them by."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[int, HeldJob] = {}
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        return len(self._held)

    def hold(
        self,
        job: ClaimedJob,
        payload: Mapping[str, Any],
        timeout: float,
        slots: Slots,
        token: str,
        deadline: float,
    ) -> HeldJob:
        with self._lock:
            lease = HeldLease(next(self._numbers), job.id, token)
            held = self._held[lease.number] = HeldJob(lease, job, payload, timeout, slots, deadline)
            return held

    def find(self, number: int) -> HeldJob | None:
        """The job of a number, unless it has been let go."""
        return self._held.get(number)

    def has(self, held: HeldJob) -> bool:
        return held.lease.number in self._held

    def let_go(self, jobs: Iterable[HeldJob]) -> None:
        with self._lock:
            for held in jobs:
                self._held.pop(held.lease.number, None)

    def extend(self, numbers: Iterable[int], deadline: float) -> None:
        with self._lock:
            for number in numbers:
                held = self._held.get(number)
                if held is not None:
                    held.deadline = deadline

    def is_leased(self, held: HeldJob) -> bool:
        """Whether the lease is still held, by this process's own reckoning."""
        return self.has(held) and held.stop.reason is None and time.monotonic() < held.deadline
