"""Where handlers run: threads, an event loop, processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from ...errors.handler_errors import StopHandler
from ...shared.threads import DaemonThreads
from ...tasks.context import RunningJob
from ...tasks.task import BaseTask
from ..durable.state import aconcluded, concluded
from ..leases.held_jobs import HeldJob
from ..reports.outcome import Outcome, completion, failure
from .context import Context

#: Something of the program's own around every run, such as a span.
Around = Callable[[RunningJob], AbstractContextManager[object]]
#: Called once, when the handler itself has ended, with what it said.
OnEnd = Callable[[HeldJob, Outcome], None]


class Lane(Protocol):
    """Runs handlers of one kind."""

    def run(self, held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], on_end: OnEnd) -> None:
        """Starts the handler and returns."""
        ...

    def abandon(self, held: HeldJob) -> bool:
        """It ignores that it was told to stop. Returns whether it could be ended all the same."""
        ...

    def close(self) -> None: ...


class ThreadLane:
    """Plain functions, each in a thread. They are told to stop through `ctx.check()`."""

    def __init__(self, around: Around | None = None) -> None:
        self._around = around
        self._threads = DaemonThreads("millrace-job")

    def run(self, held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], on_end: OnEnd) -> None:
        def work() -> None:
            on_end(held, _call(held, task, make_context, self._around))

        self._threads.run(work)

    def abandon(self, held: HeldJob) -> bool:  # noqa: ARG002 - a thread cannot be ended from outside
        return False

    def close(self) -> None:
        pass


def _call(
    held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], around: Around | None
) -> Outcome:
    """Calls a plain function, and says how that went."""
    context: Context | None = None
    raised: BaseException | None = None
    try:
        args, kwargs = task.arguments.restore(held.payload)
        if task.wants_context:
            context = make_context()
            args.insert(0, context)
        if around is None:
            said = completion(task.name, task.function(*args, **kwargs))
        else:
            with around(held.job):
                returned = task.function(*args, **kwargs)
            said = completion(task.name, returned)
    except BaseException as error:  # SystemExit too: a handler ends itself, not the worker
        said, raised = failure(error), error
    return said if context is None else concluded(context.durable, said, raised)


class LoopLane:
    """Coroutines, all on one event loop in a thread of its own. They are stopped by CancelledError."""

    def __init__(self, around: Around | None = None) -> None:
        self._around = around
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], on_end: OnEnd) -> None:
        loop = self._started()
        loop.call_soon_threadsafe(self._start, loop, held, task, make_context, on_end)

    def abandon(self, held: HeldJob) -> bool:  # noqa: ARG002 - it has been cancelled; nothing is stronger than that
        return False

    def close(self) -> None:
        with self._lock:
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._loop.stop)

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._serve, args=(self._loop,), name="millrace-loop", daemon=True).start()
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        loop.run_forever()

    def _start(
        self,
        loop: asyncio.AbstractEventLoop,
        held: HeldJob,
        task: BaseTask[..., Any],
        make_context: Callable[[], Context],
        on_end: OnEnd,
    ) -> None:
        running = loop.create_task(_call_coroutine(held, task, make_context, self._around))

        def cancel(_: StopHandler) -> None:
            loop.call_soon_threadsafe(running.cancel)

        def ended(done: asyncio.Task[Outcome]) -> None:
            on_end(held, failure(asyncio.CancelledError("cancelled")) if done.cancelled() else done.result())

        running.add_done_callback(ended)
        held.stop.on_stop(cancel)


async def _call_coroutine(
    held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], around: Around | None
) -> Outcome:
    context: Context | None = None
    raised: BaseException | None = None
    try:
        args, kwargs = task.arguments.restore(held.payload)
        if task.wants_context:
            context = make_context()
            args.insert(0, context)
        if around is None:
            said = completion(task.name, await task.function(*args, **kwargs))
        else:
            with around(held.job):
                returned = await task.function(*args, **kwargs)
            said = completion(task.name, returned)
    except BaseException as error:
        said, raised = failure(error), error
    return said if context is None else await aconcluded(context.durable, said, raised)
