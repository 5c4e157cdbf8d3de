"""Takes outcomes to the server."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ...wire.types import NewLogLine
from ..leases.held_jobs import HeldJob, HeldJobs
from ..leases.log_buffer import size_of
from .outcome import Completed, Failed, Outcome, permanent_failure
from .report_calls import ReportAnswer, ReportCalls, Sendable

#: How a report ended: as what it was accepted, or not at all.
Reported = Outcome | Literal["lost", "cancelled"]

_MOST_PER_CALL = 1000
# One call carries about this much, far below what a server accepts; a larger report goes by itself.
_BYTES_PER_CALL = 4 * 1024 * 1024
_FIRST_PAUSE = 0.25
_MOST_PAUSE = 2.0


@dataclass
class _Pending:
    held: HeldJob
    outcome: Outcome
    #: Whether the server has refused what the handler said, so that this is the worker's own failure report.
    replaced: bool = False
    settled: bool = False
    #: Whether it has been sent without an answer: what has never been sent is not given up.
    tried: bool = False
    #: What the handler wrote since it was last sent; None: it has not been asked for yet.
    logs: Sequence[NewLogLine] | None = None


class Reporter:
    """Gathers outcomes and repeats them until they are answered.

    What ends while a call is under way goes with the next one; when there is none, it goes at once. A report is given
    up when its lease has been over for as long as it was: by then the job is delivered again.
    """

    def __init__(
        self,
        calls: ReportCalls,
        jobs: HeldJobs,
        lease_secs: float,
        logger: logging.Logger,
        takes_logs: Callable[[], bool],
        traceparent: Callable[[HeldJob], str | None],
        on_reported: Callable[[Sequence[tuple[HeldJob, Reported]]], None],
    ) -> None:
        self._calls = calls
        self._jobs = jobs
        self._lease_secs = lease_secs
        self._logger = logger
        self._takes_logs = takes_logs
        self._traceparent = traceparent
        self._on_reported = on_reported
        self._changed = threading.Condition()
        self._pending: list[_Pending] = []
        self._sending = False
        self._hurried = False
        # Whether it is too late to wait for lines that are on their way.
        self._late = False
        self._closed = False
        threading.Thread(target=self._run, name="millrace-reports", daemon=True).start()

    def report(self, held: HeldJob, outcome: Outcome) -> None:
        with self._changed:
            held.reporting = True
            self._pending.append(_Pending(held, outcome))
            if not self._sending:
                self._changed.notify_all()

    def drop(self, held: HeldJob, why: Literal["lost", "cancelled"]) -> None:
        """Forgets the report: the job was cancelled or taken away."""
        with self._changed:
            dropped = [each for each in self._pending if each.held is held]
        self._settle([(each, why) for each in dropped])

    def drained(self, most_secs: float) -> bool:
        """Waits until nothing waits for its answer, but not longer; returns whether nothing does."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._pending, most_secs)

    def logs_sent(self) -> None:
        """A call with lines has ended, for which reports may have waited."""
        with self._changed:
            if self._pending:
                self._changed.notify_all()

    def hurry(self) -> None:
        """Tries again now, whatever the pause."""
        with self._changed:
            self._hurried = self._late = True
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        failures = 0
        while True:
            with self._changed:
                self._sending = False
                self._changed.wait_for(lambda: self._has_ready() or self._closed)
                if self._closed:
                    return
                self._sending = True
            self._give_up()
            batch = self._next_batch()
            if not batch:
                continue
            pause = self._send(batch, failures)
            failures = 0 if pause is None else failures + 1
            if pause is not None:
                self._pause(pause)

    def _send(self, batch: Sequence[_Pending], failures: int) -> float | None:
        """Sends a batch; returns how long to wait if not everything was answered."""
        sendable = [
            Sendable(each.held.lease, each.outcome, self._traceparent(each.held), each.logs or ()) for each in batch
        ]
        try:
            answers = self._calls.send(sendable)
        except Exception:  # a bug of ours must not lose the reports
            self._logger.exception("a report could not be sent")
            answers = [ReportAnswer("unanswered")] * len(batch)
        pause: float | None = None
        settled: list[tuple[_Pending, Reported]] = []
        for each, answer in zip(batch, answers, strict=True):
            if answer.kind == "unanswered":
                each.tried = True
                wait = _pause_for(failures) if answer.retry_after is None else answer.retry_after
                pause = max(pause or 0.0, wait)
            elif answer.kind == "accepted":
                settled.append((each, each.outcome))
            elif answer.kind == "lost":
                settled.append((each, "lost"))
            elif each.logs:
                # The outcome matters more than what was said on the way.
                each.logs = ()
            elif each.replaced:
                self._logger.error("the server does not take a failure report: %s%s", answer.why, _about(each.held))
                settled.append((each, "lost"))
            else:
                self._logger.error("the server refuses a report: %s%s", answer.why, _about(each.held))
                each.outcome = permanent_failure(f"the server refuses the result: {answer.why}")
                each.replaced = True
        self._settle(settled)
        return pause

    def _next_batch(self) -> list[_Pending]:
        batch: list[_Pending] = []
        size = 0
        with self._changed:
            for each in filter(self._is_ready, self._pending):
                size += _size_of(each)
                if batch and (len(batch) >= _MOST_PER_CALL or size > _BYTES_PER_CALL):
                    break
                batch.append(each)
        return batch

    def _has_ready(self) -> bool:
        return any(map(self._is_ready, self._pending))

    def _is_ready(self, pending: _Pending) -> bool:
        """Whether it can be sent. Lines that are on their way go first: a lease takes none once it has ended."""
        if pending.logs is None:
            buffer = pending.held.logs
            pending.logs = () if buffer is None else buffer.close(self._late)
            if pending.logs and not self._takes_logs():
                pending.logs = ()
        return pending.logs is not None

    def _give_up(self) -> None:
        """Nothing came back for a whole lease after the lease was over."""
        now = time.monotonic()
        with self._changed:
            over = [each for each in self._pending if each.tried and now > each.held.deadline + self._lease_secs]
        for each in over:
            self._logger.warning(
                "a report was given up: its lease expired and the server does not answer%s", _about(each.held)
            )
        self._settle([(each, "lost") for each in over])

    def _settle(self, ended: Sequence[tuple[_Pending, Reported]]) -> None:
        """All at once: a call settles hundreds."""
        if not ended:
            return
        reported: list[tuple[HeldJob, Reported]] = []
        with self._changed:
            for each, how in ended:
                if not each.settled:
                    each.settled = True
                    reported.append((each.held, how))
        self._jobs.let_go(held for held, _ in reported)
        self._on_reported(reported)
        with self._changed:
            self._pending = [each for each in self._pending if not each.settled]
            if not self._pending:
                self._changed.notify_all()

    def _pause(self, seconds: float) -> None:
        with self._changed:
            self._hurried = False
            self._changed.wait_for(lambda: self._hurried or self._closed, seconds)


def _pause_for(failures: int) -> float:
    return min(_FIRST_PAUSE * 2.0 ** min(failures, 10), _MOST_PAUSE) * (0.75 + random.random() / 2)


def _size_of(pending: _Pending) -> int:
    outcome = pending.outcome
    lines = sum(map(size_of, pending.logs or ()))
    if isinstance(outcome, Completed):
        return lines + len(outcome.result)
    return lines + (2 * len(outcome.error) if isinstance(outcome, Failed) else 0)


def _about(held: HeldJob) -> str:
    return f" (job {held.job.id}, task {held.job.task})"
