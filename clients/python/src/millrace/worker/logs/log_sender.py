"""Takes what handlers write to the server while they run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence

from ...wire.types import NewLogLine
from ..calls.calls import AssumedFeatures
from ..leases.heartbeat_calls import UNANSWERED, Beat, HeartbeatCalls
from ..leases.held_jobs import HeldJob, HeldJobs
from ..leases.log_buffer import LogBuffer

# What is written meanwhile goes together; an attempt that is shorter sends its lines with its report.
_EVERY_SECS = 1.0
# One call carries about this much, far below what a server accepts.
_BYTES_PER_CALL = 4 * 1024 * 1024
_JOBS_PER_CALL = 1_000

_Taken = tuple[HeldJob, LogBuffer, list[NewLogLine]]


class LogSender:
    """Sends lines with heartbeats of its own, beside those of the keeper. Handlers that write nothing cost nothing."""

    def __init__(
        self,
        calls: HeartbeatCalls,
        features: AssumedFeatures,
        jobs: HeldJobs,
        timeout: float,
        logger: logging.Logger,
        on_sent: Callable[[], None],
    ) -> None:
        """`on_sent`: reports may have waited for a call to end."""
        self._calls = calls
        self._features = features
        self._jobs = jobs
        self._timeout = timeout
        self._logger = logger
        self._on_sent = on_sent
        self._changed = threading.Condition()
        self._making = threading.Lock()
        self._written: dict[int, HeldJob] = {}
        self._thread: threading.Thread | None = None
        self._closed = False

    def write(self, held: HeldJob, line: NewLogLine) -> None:
        """Keeps a line of a job until it is sent."""
        if held.logs is None:
            with self._making:
                held.logs = held.logs or LogBuffer()
        held.logs.write(line)
        if held.lease.number in self._written:
            return
        with self._changed:
            self._written[held.lease.number] = held
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="millrace-logs", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._written or self._closed)
                self._changed.wait_for(lambda: self._closed, _EVERY_SECS)
                if self._closed:
                    return
                written, self._written = list(self._written.values()), {}
            try:
                self._send_all(written)
            except Exception:  # a bug of ours must not end the sender
                self._logger.exception("lines of handlers could not be sent")

    def _send_all(self, written: Sequence[HeldJob]) -> None:
        # Servers that know nothing of it would refuse the heartbeat.
        if not self._features.is_known("logs"):
            return
        batch: list[_Taken] = []
        size = 0
        for held in written:
            buffer = held.logs
            if buffer is None or held.reporting or not self._jobs.has(held):
                continue
            expected = buffer.size
            if batch and (size + expected > _BYTES_PER_CALL or len(batch) >= _JOBS_PER_CALL):
                self._send(batch)
                batch, size = [], 0
            lines = buffer.begin()
            if lines:
                batch.append((held, buffer, lines))
                size += expected
        if batch:
            self._send(batch)

    def _send(self, batch: Sequence[_Taken]) -> None:
        answers = [UNANSWERED] * len(batch)
        try:
            beats = [Beat(held.lease.job_id, held.lease.token, logs=lines) for held, _, lines in batch]
            answers = self._calls.send(beats, self._timeout)
        finally:
            for (held, buffer, lines), answer in zip(batch, answers, strict=True):
                buffer.end(lines if answer == UNANSWERED else ())
                if answer == UNANSWERED:
                    with self._changed:
                        self._written[held.lease.number] = held
            self._on_sent()
