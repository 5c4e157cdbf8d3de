"""Waiting for something to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from ..errors.call_errors import Failure, MillraceError, WaitTimeoutError
from ..http.connections import Line
from ..http.retry import is_repeated, retry_delay
from ..shared.durations import Duration, seconds

T = TypeVar("T")

#: How long `result()` waits unless told otherwise, in seconds.
DEFAULT_WAIT = 300.0
#: How long one call waits at the server: shorter than the half minute after which proxies like to hang up.
LONG_POLL_SECS = 20
_POLL_FIRST = 0.05
_POLL_MOST = 2.0


class TimeLimit:
    """A time limit by the monotonic clock: setting the computer's clock does not move it."""

    def __init__(self, limit: Duration) -> None:
        self._end = time.monotonic() + seconds(limit)

    def left(self) -> float:
        return max(0.0, self._end - time.monotonic())

    def poll_secs(self, most: int) -> int:
        """Whole seconds that a call may wait at the server without overrunning."""
        return min(most, int(self.left()))


def wait_for(
    what: str,
    limit: TimeLimit,
    ask: Callable[[int], T | None],
    *,
    long_polls: bool,
    most_secs: int = LONG_POLL_SECS,
    line: Line | None = None,
) -> T:
    """Asks until there is something to return or the time is over.

    `ask` gets the seconds to wait at the server. Calls that got no answer do not end it: whoever waits wants to know
    the outcome, also after a restart of the server.
    """
    asked = failed = 0
    cause: MillraceError | None = None
    while True:
        try:
            wait_secs = limit.poll_secs(most_secs) if long_polls else 0
            found = ask(wait_secs)
            if found is not None:
                return found
            failed, cause = 0, None
            if wait_secs == 0:
                time.sleep(min(_POLL_FIRST * 1.5 ** min(asked, 20), _POLL_MOST, limit.left()))
            asked += 1
        except MillraceError as error:
            if not is_passing(error) or (line is not None and line.is_cut):
                raise
            failed, cause = failed + 1, error
            time.sleep(min(retry_delay(failed, None), limit.left()))
        if limit.left() == 0:
            message = f"{what} had not ended when the wait timed out; it is still running"
            raise WaitTimeoutError(message, Failure("timeout")) from cause


def is_passing(error: MillraceError) -> bool:
    """Whether the next try may be answered."""
    return error.code == "no_answer" or (error.status is not None and is_repeated(error.status))
