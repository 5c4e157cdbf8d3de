"""What handlers wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator

from ..errors.call_errors import MillraceError
from ..http.connections import Line
from ..http.retry import retry_delay
from ..http.transport import Request
from ..shared.durations import Duration, whole_seconds
from ..wire.types import JobLogs, LogLine
from .session import Session, segment
from .wait import LONG_POLL_SECS, is_passing

_MOST_SECS = 30
# Beyond what a call waits at the server: the time for its answer to arrive.
_ANSWER_SECS = 10.0


def log_page(
    session: Session,
    job_id: str,
    attempt: int | None,
    after: str | None = None,
    wait: Duration = 0,
    line: Line | None = None,
) -> JobLogs:
    request = Request("GET", f"/jobs/{segment(job_id)}/logs", {"attempt": attempt, "after": after}, line=line)
    wait_secs = min(_MOST_SECS, whole_seconds(wait))
    if wait_secs > 0:
        request.query = {**request.query, "wait_secs": wait_secs}
        request.timeout = wait_secs + _ANSWER_SECS
    page: JobLogs = session.transport.call(request).body
    return page


def follow_logs(session: Session, job_id: str, attempt: int | None, line: Line) -> Iterator[LogLine]:
    """A server that does not answer for a moment does not end it: whoever follows wants to see the end."""
    after: str | None = None
    failed = 0
    while not line.is_cut:
        try:
            page = log_page(session, job_id, attempt, after, LONG_POLL_SECS, line)
        except MillraceError as error:
            if line.is_cut:
                return
            if not is_passing(error):
                raise
            failed += 1
            time.sleep(retry_delay(failed, None))
            continue
        failed = 0
        yield from page["lines"]
        after = page.get("next")
        if after is None:
            return
