"""Jobs that a worker has created and cannot look at: its token creates children, and reads no jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn

from ...shared.durations import Duration
from ...wire.types import Job

#: What a worker needs for that.
CLIENT = "Worker(..., client=Millrace()), with the token of a tenant"


class UnreadableJob:
    """A JobHandle of which only the id is known."""

    def __init__(self, job_id: str) -> None:
        self._id = job_id

    @property
    def id(self) -> str:
        return self._id

    def get(self) -> Job:
        _refuse()

    def result(self, timeout: Duration = 0) -> Any:  # noqa: ARG002 - as others have it
        _refuse()

    def watch(self) -> Iterator[Job]:
        _refuse()

    def cancel(self) -> None:
        _refuse()

    async def aget(self) -> Job:
        _refuse()

    async def aresult(self, timeout: Duration = 0) -> Any:  # noqa: ARG002
        _refuse()

    def awatch(self) -> AsyncIterator[Job]:
        _refuse()

    async def acancel(self) -> None:
        _refuse()


def _refuse() -> NoReturn:
    raise RuntimeError(f"looking at a job needs a client: {CLIENT}")
