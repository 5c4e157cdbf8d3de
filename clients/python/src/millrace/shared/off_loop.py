"""Blocking calls, awaited."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import TypeVar

from .threads import DaemonThreads

T = TypeVar("T")

_threads = DaemonThreads("millrace-call")


async def off_loop(work: Callable[[], T], on_cancel: Callable[[], None] | None = None) -> T:
    """Runs blocking work in a thread and awaits it.

    If the waiting task is cancelled, `on_cancel` may end the work early; nobody waits for it.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is None:
            future.set_result(value)  # type: ignore[arg-type]  # a result that is None is one
        else:
            future.set_exception(error)

    def run() -> None:
        value: T | None = None
        failed: BaseException | None = None
        try:
            value = context.run(work)
        except BaseException as error:
            failed = error
        try:
            loop.call_soon_threadsafe(settle, value, failed)
        except RuntimeError:
            pass  # the loop has been closed meanwhile: nobody waits any more

    _threads.run(run)
    try:
        return await future
    except asyncio.CancelledError:
        if on_cancel is not None:
            on_cancel()
        raise
