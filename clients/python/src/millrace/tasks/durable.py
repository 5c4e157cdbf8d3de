"""What makes a handler durable: named steps that run once, and waits that hold no worker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, overload

from ..shared.durations import Duration
from ..wire.types import Ask
from .call import Call

T = TypeVar("T")
R = TypeVar("R")


class DurableContext(Protocol):
    """After a failure, a crash or a wait the handler runs again from its beginning.

    It gets what it has stored instead of doing it again. Code between steps runs each time. Names are all that counts,
    so code may change while jobs wait. The forms that begin with `a` are for async handlers.
    """

    def step(self, name: str, run: Callable[[], T], *, retries: int = 0, retry_delay: Duration = 0) -> T:
        """Runs a function once per job and keeps what it returns, as JSON. Another attempt gets that instead.

        What it raises is tried again within the attempt as often as `retries` says. A dataclass or a pydantic model is
        rebuilt if the function is annotated with it.

        >>> charge = ctx.step("find charge", lambda: stripe.find(order))  # doctest: +SKIP
        """
        ...

    def astep(
        self, name: str, run: Callable[[], Awaitable[T]], *, retries: int = 0, retry_delay: Duration = 0
    ) -> Coroutine[Any, Any, T]:
        """The same, for async handlers.

        >>> charge = await ctx.astep("find charge", lambda: stripe.find(order))  # doctest: +SKIP
        """
        ...

    def sleep(self, name: str, time: Duration | datetime) -> None:
        """Sleeps without holding a worker: the handler starts again when it is over.

        Takes seconds, a timedelta or the instant of its end, a year ahead at most. Below 30 seconds it waits in place.
        """
        ...

    def asleep(self, name: str, time: Duration | datetime) -> Coroutine[Any, Any, None]:
        """The same, for async handlers."""
        ...

    @overload
    def wait_for(
        self,
        name: str,
        *,
        timeout: Duration,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Any: ...
    @overload
    def wait_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[T],
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> T | None: ...
    def wait_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[Any] | None = None,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Any:
        """Waits for a signal without holding a worker, and returns its value; None if none came in time.

        The signal has the name of the wait and this job's id as key, unless said otherwise. `ask` is a question to a
        person, shown where waits are. `schema` is a dataclass or a pydantic model that the value is made into.

        >>> answer = ctx.wait_for("approval", timeout=timedelta(days=3), ask="Refund?")  # doctest: +SKIP
        """
        ...

    @overload
    def await_for(
        self,
        name: str,
        *,
        timeout: Duration,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Coroutine[Any, Any, Any]: ...
    @overload
    def await_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[T],
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Coroutine[Any, Any, T | None]: ...
    def await_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[Any] | None = None,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Coroutine[Any, Any, Any]:
        """The same, for async handlers."""
        ...

    def call(self, name: str, call: Call[R], *, timeout: Duration = ...) -> R:
        """Runs another task as a job of its own, once per name, and waits for its result without holding a worker.

        Raises ChildFailedError if it fails, is cancelled, or has not ended in time: 30 days unless said otherwise.

        >>> sent = ctx.call("mail", send_mail.call(order))  # doctest: +SKIP
        """
        ...

    def acall(self, name: str, call: Call[R], *, timeout: Duration = ...) -> Coroutine[Any, Any, R]:
        """The same, for async handlers."""
        ...

    def call_all(self, name: str, calls: Sequence[Call[R]], *, timeout: Duration = ...) -> list[R]:
        """The same for up to a thousand jobs at once; the results have the order of the calls.

        >>> sizes = ctx.call_all("resize", [resize.call(image) for image in images])  # doctest: +SKIP
        """
        ...

    def acall_all(
        self, name: str, calls: Sequence[Call[R]], *, timeout: Duration = ...
    ) -> Coroutine[Any, Any, list[R]]:
        """The same, for async handlers."""
        ...

    def key(self, name: str) -> str:
        """A key for calls to others: the same in every attempt of this job, and in replays of it."""
        ...
