"""What creating a job returns, and who creates it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..shared.durations import Duration
from ..wire.types import Job

if TYPE_CHECKING:
    from .call import Call

R = TypeVar("R")
Out = TypeVar("Out", covariant=True)


class JobHandle(Protocol[Out]):
    """A job that was created, and the type of what it will return."""

    @property
    def id(self) -> str: ...

    def get(self) -> Job:
        """The record of the job."""
        ...

    def result(self, timeout: Duration = ...) -> Out:
        """Waits for the job to end, for five minutes unless told otherwise, and returns what its task returned.

        Raises JobFailedError, JobCancelledError or WaitTimeoutError; after the last one the job goes on.
        """
        ...

    def watch(self) -> Iterator[Job]:
        """Yields the job as it is, then after every change and every report of progress until it ends."""
        ...

    def cancel(self) -> None:
        """Cancels it. Raises AlreadyFinishedError if it has ended."""
        ...

    async def aget(self) -> Job: ...

    async def aresult(self, timeout: Duration = ...) -> Out: ...

    def awatch(self) -> AsyncIterator[Job]: ...

    async def acancel(self) -> None: ...


class Sender(Protocol):
    """Who creates jobs: a client."""

    def send(self, call: Call[R]) -> JobHandle[R]: ...

    async def asend(self, call: Call[R]) -> JobHandle[R]: ...


class _Default:
    """The client of tasks that name none: made when it is first needed, from the environment."""

    def __init__(self) -> None:
        self.make: Any = None
        self.sender: Any = None


_default = _Default()


def default_sender() -> Any:
    """The client that `.enqueue()` and `.start()` use unless they are told another one."""
    if _default.sender is None:
        _default.sender = _default.make()
    return _default.sender


def set_default_sender(sender: Any) -> None:
    _default.sender = sender


def set_sender_factory(make: Any) -> None:
    """Called once by the client, which is built upon tasks and not the other way round."""
    _default.make = make
