"""Jobs that were created."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Generic, TypeVar

from ..errors.outcome_errors import JobCancelledError, JobFailedError
from ..exactjson.text import read
from ..http.connections import Line
from ..http.event_stream import ServerEvent
from ..http.transport import Request
from ..shared.durations import Duration
from ..shared.off_loop import off_loop
from ..wire.types import Job
from .session import Session, segment
from .wait import DEFAULT_WAIT, TimeLimit, wait_for
from .watch import Seen, watch

R = TypeVar("R")

_ENDED = frozenset({"completed", "failed", "cancelled"})
# Beyond what a call waits at the server: the time for its answer to arrive.
_ANSWER_SECS = 10.0


class RemoteJob(Generic[R]):
    """A job by its id; a JobHandle. Makes no call by itself."""

    def __init__(self, session: Session, job_id: str, result_of: Callable[[Any], R]) -> None:
        self._session = session
        self._id = job_id
        self._result_of = result_of

    @property
    def id(self) -> str:
        return self._id

    def get(self) -> Job:
        return get_job(self._session, self._id)

    def result(self, timeout: Duration = DEFAULT_WAIT) -> R:
        return self._wait(timeout, None)

    def watch(self) -> Iterator[Job]:
        return watch_job(self._session, self._id, Line())

    def cancel(self) -> None:
        cancel_job(self._session, self._id)

    async def aget(self) -> Job:
        return await off_loop(self.get)

    async def aresult(self, timeout: Duration = DEFAULT_WAIT) -> R:
        line = Line()
        return await off_loop(lambda: self._wait(timeout, line), line.cut)

    async def awatch(self) -> AsyncIterator[Job]:
        line = Line()
        states = watch_job(self._session, self._id, line)
        try:
            while (state := await off_loop(lambda: next(states, None), line.cut)) is not None:
                yield state
        finally:
            line.cut()

    async def acancel(self) -> None:
        await off_loop(self.cancel)

    def _wait(self, timeout: Duration, line: Line | None) -> R:
        return self._result_of(outcome_of(wait_for_job(self._session, self._id, timeout, line)))

    def __repr__(self) -> str:
        return f"<job {self._id}>"


def get_job(session: Session, job_id: str) -> Job:
    job: Job = session.read(f"/jobs/{segment(job_id)}")
    return job


def cancel_job(session: Session, job_id: str) -> None:
    session.change("POST", f"/jobs/{segment(job_id)}/cancel", done_if=("already_finished",))


def wait_for_job(session: Session, job_id: str, timeout: Duration, line: Line | None = None) -> Job:
    """The job, once it has ended."""
    limit = TimeLimit(timeout)
    path = f"/jobs/{segment(job_id)}"

    def ask(wait_secs: int) -> Job | None:
        request = Request("GET", path, attempts=1, line=line)
        if wait_secs > 0:
            request.query = {"wait_secs": wait_secs}
            request.timeout = wait_secs + _ANSWER_SECS
        job: Job = session.transport.call(request).body
        return job if job["status"] in _ENDED else None

    return wait_for(f"the job {job_id}", limit, ask, long_polls=session.features.has("wait"), line=line)


def outcome_of(job: Job) -> dict[str, Any]:
    """The result of a job that has ended. Raises JobFailedError or JobCancelledError."""
    if job["status"] == "failed":
        raise JobFailedError(job)
    if job["status"] == "cancelled":
        raise JobCancelledError(job)
    return job["result"] or {}


def watch_job(session: Session, job_id: str, line: Line) -> Iterator[Job]:
    latest: list[Any] = []

    def see(event: ServerEvent) -> Seen | None:
        parsed = read(event.data)
        if event.event == "status":
            latest[:] = [parsed]
        elif event.event == "progress" and latest:
            latest[:] = [{**latest[0], "progress": parsed}]
        else:
            return None
        return Seen(latest[0], latest[0]["status"] in _ENDED)

    return watch(session.transport, f"/jobs/{segment(job_id)}/events", see, line)
