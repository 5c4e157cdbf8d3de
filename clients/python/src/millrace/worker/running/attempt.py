"""What becomes of a job once its handler has ended."""

from __future__ import annotations

from typing import Literal

from ...errors.handler_errors import (
    JobCancelled,
    JobTimeout,
    LeaseLost,
    NonRetryableError,
    ShuttingDown,
    StopHandler,
)
from ..reports.outcome import Completed, Failed, Outcome, Released, Waiting, retryable_failure

#: What is to be done with a job: report an outcome, or nothing.
Verdict = Outcome | Literal["cancelled", "lost"]


def timed_out(reason: JobTimeout) -> Failed:
    return retryable_failure(str(reason), reason)


def verdict_of(reason: StopHandler | None, said: Outcome) -> Verdict:
    """What the handler said counts only if it was not told to stop before, or was told to for the worker's own sake."""
    if reason is None:
        return said
    if isinstance(reason, JobCancelled):
        return "cancelled"
    if isinstance(reason, LeaseLost):
        return "lost"
    if isinstance(reason, JobTimeout):
        return timed_out(reason)
    assert isinstance(reason, ShuttingDown)
    # It may have finished in time after all, or know that it never will.
    is_final = isinstance(said, (Completed, Waiting)) or (
        isinstance(said, Failed) and isinstance(said.cause, NonRetryableError)
    )
    return said if is_final else Released()
