"""Failed attempts in the log, at a bounded rate."""

from __future__ import annotations

import logging
import threading
import time

from ..leases.claimed_job import ClaimedJob
from .outcome import Failed

# A worker whose every job fails must not fill the disk: this many lines at once, then so many per second.
_BURST = 50.0
_PER_SECOND = 5.0
_LINE_MAX = 300


class FailureLog:
    """One line per failed attempt: a warning if it will be tried again, an error if it is final."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._lock = threading.Lock()
        self._allowance = _BURST
        self._filled_at = time.monotonic()
        self._left_out = 0

    def write(self, job: ClaimedJob, failed: Failed) -> None:
        with self._lock:
            now = time.monotonic()
            self._allowance = min(_BURST, self._allowance + (now - self._filled_at) * _PER_SECOND)
            self._filled_at = now
            if self._allowance < 1:
                self._left_out += 1
                return
            self._allowance -= 1
            left_out, self._left_out = self._left_out, 0
        if left_out > 0:
            self._logger.warning("%d more failures were not logged", left_out)
        level, then = what_follows(job, failed)
        self._logger.log(
            level,
            "%s failed: attempt %d of %d of the job %s, %s: %s",
            job.task,
            job.retry_count + 1,
            job.max_retries + 1,
            job.id,
            then,
            _first_line(failed.error),
            extra={"job": job.id, "task": job.task, "attempt": job.attempt},
        )


def what_follows(job: ClaimedJob, failed: Failed) -> tuple[int, str]:
    """The level of the line, and what becomes of the job. The service adds its jitter to the delay."""
    if not failed.retryable:
        return logging.ERROR, "for good"
    if job.retry_count >= job.max_retries:
        return logging.ERROR, "its last"
    if failed.retry_after_secs is not None:
        return logging.WARNING, f"next try in {failed.retry_after_secs} s"
    config, retry = job.config, job.retry_count
    delay = config["retry_delay_secs"]
    grown = {"fixed": delay, "linear": delay * (retry + 1)}.get(config["retry_backoff"], delay * 2.0 ** min(retry, 60))
    return logging.WARNING, f"next try in about {min(grown, config['retry_max_delay_secs']):.0f} s"


def _first_line(error: str) -> str:
    line = error.strip().split("\n", 1)[0]
    return line if len(line) <= _LINE_MAX else f"{line[:_LINE_MAX]}…"
