"""What a handler gets beside its arguments."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from .call import Call
from .durable import DurableContext
from .handles import JobHandle

R = TypeVar("R")


@dataclass(frozen=True)
class StepOf:
    """Which step of which workflow a job is."""

    id: str
    step: str


class RunningJob(Protocol):
    """A job as its handler sees it."""

    @property
    def id(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def queue(self) -> str: ...
    @property
    def tenant(self) -> str: ...
    @property
    def attempt(self) -> int:
        """1 for the first delivery."""
        ...

    @property
    def retry_count(self) -> int: ...
    @property
    def max_retries(self) -> int: ...
    @property
    def metadata(self) -> Mapping[str, Any]: ...
    @property
    def workflow(self) -> StepOf | None: ...
    @property
    def payload_text(self) -> str:
        """The payload as it was sent, digit for digit."""
        ...


class JobContext(DurableContext, Protocol):
    """The first argument of tasks with `context=True`."""

    @property
    def job(self) -> RunningJob: ...

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        """The worker's logger; every line names the job, and is kept with the attempt (`client.jobs.logs`)."""
        ...

    @property
    def last_progress(self) -> Mapping[str, Any] | None:
        """What the last attempt said, if this worker ran it."""
        ...

    def check(self) -> None:
        """Raises JobCancelled, LeaseLost, JobTimeout or ShuttingDown if the handler is to stop."""
        ...

    def stopping(self) -> bool:
        """Whether `check()` would raise."""
        ...

    def wait(self, seconds: float) -> None:
        """Sleeps, and raises like `check()` as soon as the handler is to stop. Not for async handlers."""
        ...

    def leased(self) -> bool:
        """Whether the lease is still held, by this machine's own clock; ask before what must not happen twice."""
        ...

    def progress(self, value: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Says how far the attempt is: an object of up to 16 KiB, shown on the job; sent at most once per second."""
        ...

    def enqueue(self, call: Call[R]) -> JobHandle[R]:
        """Creates a job once, however often this one is tried: a child of this one, which nobody waits for.

        What tells it from others is the ordinal of the call, within its step if it is made in one. With a key or
        `unique`, and where the worker's token may not create it, the worker's client does, under a key that is made of
        this job's id and the same ordinal; refused if the job is another tenant's than the client.
        """
        ...

    async def aenqueue(self, call: Call[R]) -> JobHandle[R]:
        """The same, for async handlers."""
        ...
