"""When heartbeats are sent. The same loop runs in the keeper's process, or in a thread of the worker's."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .heartbeat_calls import UNANSWERED, Beat

# Without a sign of life of the handlers' process for this long, its jobs are left to others.
_SILENCE_SECS = 300.0
_REPEAT_SECS = 1.0
_PROGRESS_EVERY_SECS = 1.0


class HeldLease(NamedTuple):
    """A lease as the keeper knows it. The number is the worker's own: a job that comes again has another one."""

    number: int
    job_id: str
    token: str


class BeatLoop:
    """Heartbeats every held lease at half its length, all in one call.

    Without an answer it tries again at once, then every second. At most one round is under way; what must be sent
    earlier than the next one (progress, a lease that is half over when it arrives) wakes the loop.
    """

    def __init__(
        self,
        lease_secs: float,
        send: Callable[[Sequence[Beat], float], list[str]],
        on_extended: Callable[[list[int], float], None],
        on_lost: Callable[[int, str], None],
    ) -> None:
        self._lease_secs = lease_secs
        self._send = send
        self._on_extended = on_extended
        self._on_lost = on_lost
        # Long enough for a busy server, short enough for two tries within half a lease.
        self._timeout = min(max(lease_secs / 4, 1.0), 10.0)
        self._changed = threading.Condition()
        self._leases: dict[int, HeldLease] = {}
        self._progress: dict[int, Mapping[str, Any]] = {}
        self._next_round = time.monotonic() + lease_secs / 2
        # The earliest instant for which a round was asked since the last one began.
        self._asked_round = float("inf")
        self._next_progress = 0.0
        self._last_pulse = time.monotonic()
        self._stopped = False

    def hold(self, leases: Iterable[HeldLease], due: float) -> None:
        """These leases are kept from now on; the first of them is half over at this instant."""
        with self._changed:
            self._leases.update({lease.number: lease for lease in leases})
            self._asked_round = min(self._asked_round, due)
            if due < self._next_round:
                self._changed.notify()

    def drop(self, numbers: Iterable[int]) -> None:
        """These are kept no longer."""
        with self._changed:
            for number in numbers:
                self._leases.pop(number, None)
                self._progress.pop(number, None)

    def progress(self, number: int, value: Mapping[str, Any]) -> None:
        with self._changed:
            if number in self._leases:
                self._progress[number] = value
                self._changed.notify()

    def pulse(self) -> None:
        """The worker is alive."""
        self._last_pulse = time.monotonic()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify()

    def run(self) -> None:
        """Until it is stopped."""
        failures = 0
        while True:
            with self._changed:
                self._sleep()
                if self._stopped:
                    return
                now = time.monotonic()
                is_round = now >= self._due_round()
                if is_round:
                    self._asked_round = float("inf")
                numbers = list(self._leases) if is_round else [each for each in self._progress if each in self._leases]
                leases = [self._leases[number] for number in numbers]
                said = {number: self._progress[number] for number in numbers if number in self._progress}
                self._next_progress = now + _PROGRESS_EVERY_SECS
            silent = now - self._last_pulse > _SILENCE_SECS
            answered = not leases or silent or self._beat(leases, said, now)
            if not is_round and answered:
                continue
            failures = 0 if answered else failures + 1
            pause = 0.0 if failures == 1 else _REPEAT_SECS
            with self._changed:
                self._next_round = now + self._lease_secs / 2 if answered else time.monotonic() + pause

    def _due_round(self) -> float:
        return min(self._next_round, self._asked_round)

    def _sleep(self) -> None:
        """Until the next round is due, or there is progress to send."""
        while not self._stopped:
            due = min(self._due_round(), self._next_progress) if self._progress else self._due_round()
            left = due - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _beat(self, leases: Sequence[HeldLease], said: Mapping[int, Mapping[str, Any]], sent_at: float) -> bool:
        """Whether every heartbeat was answered."""
        beats = [Beat(lease.job_id, lease.token, said.get(lease.number)) for lease in leases]
        answers = self._send(beats, self._timeout)
        extended: list[int] = []
        lost: list[tuple[int, str]] = []
        with self._changed:
            for lease, answer in zip(leases, answers, strict=True):
                if answer == UNANSWERED:
                    continue
                if lease.number in said and self._progress.get(lease.number) is said[lease.number]:
                    del self._progress[lease.number]
                if lease.number not in self._leases:
                    continue
                if answer == "running":
                    extended.append(lease.number)
                else:
                    del self._leases[lease.number]
                    lost.append((lease.number, answer))
        if extended:
            self._on_extended(extended, sent_at + self._lease_secs)
        for number, answer in lost:
            self._on_lost(number, answer)
        return UNANSWERED not in answers
