"""Typed tasks: a function, and everything that says how its jobs run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, ParamSpec, TypeVar, overload

from ..exactjson.text import JsonText, write
from ..shared.durations import Duration
from .arguments import Arguments
from .call import Call
from .conversion import Converter, converter, hints, to_json
from .handles import JobHandle, Sender, default_sender
from .policy import DEFAULT_QUEUE, Limit, Options, Retries, Unique

P = ParamSpec("P")
R = TypeVar("R")


class Prepared(Generic[P, R]):
    """A task with options: what `using()` returns, and what every task begins with."""

    def __init__(self, task: BaseTask[P, R] | None, options: Options, client: Sender | None) -> None:
        self._task = task
        self._call_options = options
        self._client = client

    def call(self, *args: P.args, **kwargs: P.kwargs) -> Call[R]:
        """The task with its arguments, for `enqueue_many`, schedules and workflows. Creates nothing.

        Raises TypeError if the arguments do not fit the function.
        """
        task = self._of
        return Call(task, task.arguments.payload(args, kwargs), self._call_options)

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Creates a job. Once it has returned, the job is stored and will run."""
        return self._sender.send(self.call(*args, **kwargs))

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """The same, for asyncio."""
        return await self._sender.asend(self.call(*args, **kwargs))

    @property
    def _of(self) -> BaseTask[P, R]:
        assert self._task is not None
        return self._task

    @property
    def _sender(self) -> Sender:
        sender: Sender = default_sender() if self._client is None else self._client
        return sender


class BaseTask(Prepared[P, R]):
    """What tasks have in common, whether they are async or take a context."""

    is_async = False
    wants_context = False

    def __init__(self, function: Callable[..., Any], name: str | None, options: Options, process: bool) -> None:
        super().__init__(None, Options(), None)
        self.function = function
        self.name: str = name or function.__name__
        self.options = options
        #: Whether its attempts run in processes of their own.
        self.process = process
        self.arguments = Arguments(function, skip_first=self.wants_context)
        self._returned: list[Converter | None] | None = None
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__

    @property
    def queue(self) -> str:
        return self.options.queue or DEFAULT_QUEUE

    @overload
    def using(
        self,
        *,
        delay: Duration | None = None,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retries: Retries | None = None,
        timeout: Duration | None = None,
        limits: Sequence[Limit] | None = None,
        expires: Duration | datetime | None = None,
        unique: Unique | None = None,
        metadata: Mapping[str, Any] | None = None,
        client: Sender | None = None,
    ) -> Prepared[P, R]: ...

    @overload
    def using(
        self,
        *,
        run_at: datetime,
        key: str | None = None,
        queue: str | None = None,
        priority: int | None = None,
        retries: Retries | None = None,
        timeout: Duration | None = None,
        limits: Sequence[Limit] | None = None,
        expires: Duration | datetime | None = None,
        unique: Unique | None = None,
        metadata: Mapping[str, Any] | None = None,
        client: Sender | None = None,
    ) -> Prepared[P, R]: ...

    def using(self, *, client: Sender | None = None, **options: Any) -> Prepared[P, R]:
        """The task with options for one call.

        >>> send_welcome.using(delay=600, key="welcome-42").enqueue(42)  # doctest: +SKIP
        """
        if options.get("delay") is not None and options.get("run_at") is not None:
            raise TypeError("a job has a delay or an instant, not both")
        return Prepared(self, Options(**options), client)

    def result_of(self, result: Any) -> R:
        """What the function returned, from the JSON that was stored."""
        if self._returned is None:
            self._returned = [converter(hints(self.function).get("return"))]
        convert = self._returned[0]
        value: R = result if convert is None else convert(result)
        return value

    @property
    def _of(self) -> BaseTask[P, R]:
        return self

    def __repr__(self) -> str:
        return f"<task {self.name} on {self.queue}>"


class Task(BaseTask[P, R]):
    """A task whose function runs in a thread."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function itself, here and now: for tests, and for other functions."""
        returned: R = self.function(*args, **kwargs)
        return returned


class AsyncTask(BaseTask[P, R]):
    """A task whose function is a coroutine, which runs on the worker's event loop."""

    is_async = True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        """Calls the function itself, here and now."""
        returned: Coroutine[Any, Any, R] = self.function(*args, **kwargs)
        return returned


def result_text(task_name: str, returned: object) -> str:
    """The JSON of what a handler returned. Raises TypeError or ValueError if it is not an object."""
    if returned is None:
        return "{}"
    if isinstance(returned, JsonText):
        return returned.text
    text = write(returned, to_json)
    if not text.startswith("{"):
        raise TypeError(f"{task_name} returned {type(returned).__name__}; a result is an object, or nothing")
    return text
