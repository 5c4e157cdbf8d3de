"""Waiting for many jobs with few calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from ..errors.call_errors import Failure, NotFoundError
from ..http.connections import Line
from ..http.transport import Request
from ..shared.durations import Duration
from ..tasks.handles import JobHandle
from .job_handle import get_job, outcome_of
from .session import Session
from .wait import TimeLimit, wait_for

R = TypeVar("R")

_MOST_JOBS = 1000
# Short, so that the failure of one is noticed soon.
_POLL_SECS = 5


def wait_all(session: Session, handles: Sequence[JobHandle[R]], timeout: Duration, line: Line | None = None) -> list[R]:
    """The results, in the order of the handles. Raises the error of the first that is found failed or cancelled."""
    limit = TimeLimit(timeout)
    if session.features.has("wait"):
        ids = list(dict.fromkeys(handle.id for handle in handles))
        for start in range(0, len(ids), _MOST_JOBS):
            _wait_for_many(session, ids[start : start + _MOST_JOBS], limit, line)
    return [handle.result(timeout=limit.left()) for handle in handles]


def _wait_for_many(session: Session, ids: list[str], limit: TimeLimit, line: Line | None) -> None:
    pending = ids

    def ask(wait_secs: int) -> bool | None:
        nonlocal pending
        body: Any = {"job_ids": pending, "until": "all", "wait_secs": wait_secs}
        request = Request("POST", "/jobs/wait", body=body, timeout=wait_secs + 10.0, attempts=1, line=line)
        found = session.transport.call(request).body
        for missing in found["missing"]:
            raise NotFoundError(f"there is no job {missing}", Failure("not_found", status=404))
        for ended in found["ended"]:
            if ended["status"] != "completed":
                outcome_of(get_job(session, ended["id"]))
        pending = found["pending"]
        return None if pending else True

    wait_for(f"one of {len(ids)} jobs", limit, ask, long_polls=True, most_secs=_POLL_SECS, line=line)
