"""What handlers raise, and what is raised in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..shared.durations import Duration, seconds


class NonRetryableError(Exception):
    """Raised by a handler: the job fails for good, even if it has retries left."""


class RetryAfterError(Exception):
    """Raised by a handler: the attempt failed, and the next one starts after this time instead of the computed delay.

    >>> raise RetryAfterError("slow down", 90)  # doctest: +SKIP
    """

    def __init__(self, message: str, after: Duration) -> None:
        super().__init__(message)
        #: When to try again, in seconds.
        self.after = seconds(after)


class MismatchError(NonRetryableError):
    """The arguments or the result of a handler do not match its signature. Trying again would not help."""


@dataclass(frozen=True)
class ChildEnd:
    """How a job ended that another one waited for."""

    #: What its parent calls it.
    name: str
    job_id: str
    status: str
    error: str | None


class ChildFailedError(NonRetryableError):
    """Raised by `ctx.call` and `ctx.call_all`: a child failed, was cancelled, or did not end in time.

    Unless the handler catches it, the job fails for good: trying again would find the same.
    """

    def __init__(self, message: str, children: Sequence[ChildEnd] = ()) -> None:
        super().__init__(message)
        #: Those that did not complete; none if the time was over.
        self.children = children
        self.timed_out = not children


class StopHandler(BaseException):
    """Why a handler is to stop. `ctx.check()` raises it; like CancelledError it passes through `except Exception`."""


class JobCancelled(StopHandler):
    """The job was cancelled. Nothing is reported."""


class LeaseLost(StopHandler):
    """Another worker may hold the job by now. Nothing is reported."""


class JobTimeout(StopHandler):
    """The attempt took longer than the task's `timeout`."""


class ShuttingDown(StopHandler):
    """The worker is stopping and gives the job back."""


class Suspended(BaseException):
    """Raised by a wait of a durable job: the attempt ends here, and the handler starts again when the wait is over.

    Let it pass. `except Exception` does; a handler that catches everything must raise it on. `finally` runs.
    """
