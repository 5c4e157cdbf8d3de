"""The decorator that makes tasks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeVar, overload

from ..shared.durations import Duration
from .context import JobContext
from .conversion import Result
from .policy import Limit, Options, Retries, Unique
from .task import AsyncTask, BaseTask, Task

P = ParamSpec("P")
R = TypeVar("R", bound=Result)


class ContextTask(BaseTask[P, R], Generic[P, R]):
    """A task whose function takes a context first, and runs in a thread."""

    wants_context = True

    def __call__(self, ctx: JobContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself, here and now."""
        returned: R = self.function(ctx, *args, **kwargs)
        return returned


class AsyncContextTask(BaseTask[P, R], Generic[P, R]):
    """A task whose function is a coroutine and takes a context first."""

    is_async = True
    wants_context = True

    def __call__(self, ctx: JobContext, /, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Calls the function itself, here and now."""
        returned: Coroutine[Any, Any, R] = self.function(ctx, *args, **kwargs)
        return returned


class PlainDecorator(Protocol):
    """Makes a task of a function that takes its arguments only."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> Task[P, R]: ...


class ContextDecorator(Protocol):
    """Makes a task of a function that takes a context first."""

    @overload
    def __call__(
        self, function: Callable[Concatenate[JobContext, P], Coroutine[Any, Any, R]], /
    ) -> AsyncContextTask[P, R]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[JobContext, P], R], /) -> ContextTask[P, R]: ...


@overload
def task(function: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...
@overload
def task(function: Callable[P, R], /) -> Task[P, R]: ...
@overload
def task(
    *,
    name: str | None = None,
    queue: str | None = None,
    retries: Retries | None = None,
    timeout: Duration | None = None,
    limits: Sequence[Limit] | None = None,
    expires: Duration | None = None,
    unique: Unique | None = None,
    priority: int | None = None,
    process: bool = False,
    context: Literal[False] = False,
) -> PlainDecorator: ...
@overload
def task(
    *,
    context: Literal[True],
    name: str | None = None,
    queue: str | None = None,
    retries: Retries | None = None,
    timeout: Duration | None = None,
    limits: Sequence[Limit] | None = None,
    expires: Duration | None = None,
    unique: Unique | None = None,
    priority: int | None = None,
    process: bool = False,
) -> ContextDecorator: ...
def task(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    queue: str | None = None,
    retries: Retries | None = None,
    timeout: Duration | None = None,
    limits: Sequence[Limit] | None = None,
    expires: Duration | None = None,
    unique: Unique | None = None,
    priority: int | None = None,
    process: bool = False,
    context: bool = False,
) -> Any:
    """Makes a task of a function. Its name is that of the function, and its queue is `tasks`, unless said otherwise.

    A `def` runs in a thread of the worker, an `async def` on its event loop. With `process` it runs in a process of its
    own: for code that computes in Python for long, and for code that may crash.

    >>> @task(queue="emails", retries=Retries(max=5, delay=10))
    ... def send_welcome(user_id: int, locale: str = "en") -> None: ...
    """
    options = Options(
        queue=queue,
        retries=retries,
        timeout=timeout,
        priority=priority,
        limits=limits,
        expires=expires,
        unique=unique,
    )

    def decorate(decorated: Callable[..., Any]) -> BaseTask[..., Any]:
        is_async = inspect.iscoroutinefunction(decorated)
        if is_async and process:
            raise TypeError(f"{decorated.__name__} is async; what runs in a process of its own is a plain function")
        plain: type[BaseTask[..., Any]] = AsyncTask if is_async else Task
        with_context: type[BaseTask[..., Any]] = AsyncContextTask if is_async else ContextTask
        return (with_context if context else plain)(decorated, name, options, process)

    return decorate if function is None else decorate(function)
