"""Handlers in processes of their own: for code that computes for long, and for code that may crash."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from contextlib import nullcontext
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ...errors.handler_errors import StopHandler
from ...shared.threads import DaemonThreads
from ...tasks.task import BaseTask
from ..durable.state import CheckpointStore
from ..leases.held_jobs import HeldJob
from ..reports.outcome import Failed, Outcome, retryable_failure
from .context import Context
from .lanes import Around, OnEnd
from .process_checkpoints import Question
from .process_child import Order, Said, serve


class _Child:
    """One process, which runs one job at a time."""

    def __init__(self, client: Any, logger_name: str) -> None:
        # A fresh interpreter: a copy of this one would copy the locks that its threads hold.
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self.pipe: Connection[Any, Any] = ours
        self.process: BaseProcess = context.Process(
            target=serve, args=(theirs, client, logger_name), name="millrace-pool", daemon=True
        )
        self.process.start()
        theirs.close()
        self._lock = threading.Lock()

    def tell(self, message: Any) -> None:
        try:
            with self._lock:
                self.pipe.send(message)
        except (OSError, ValueError):
            pass  # it has ended; who waits for its answer notices

    def kill(self) -> None:
        self.process.kill()


class ProcessLane:
    """As many processes as jobs run at a time; an idle one is used again.

    A process that ends, by whatever hand, costs one attempt of the job that it ran, and of no other.
    """

    def __init__(
        self,
        client: Any,
        logger_name: str,
        store_of: Callable[[HeldJob], CheckpointStore],
        around: Around | None = None,
    ) -> None:
        self._client = client
        self._logger_name = logger_name
        self._store_of = store_of
        self._around = around
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: dict[int, _Child] = {}
        self._threads = DaemonThreads("millrace-process")
        self._closed = False

    def run(self, held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context], on_end: OnEnd) -> None:
        self._threads.run(lambda: on_end(held, self._attempt(held, task, make_context)))

    def abandon(self, held: HeldJob) -> bool:
        with self._lock:
            child = self._busy.get(held.lease.number)
        if child is None:
            return False
        child.kill()
        return True

    def close(self) -> None:
        with self._lock:
            self._closed = True
            children = [*self._idle, *self._busy.values()]
            self._idle = []
        for child in children:
            child.kill()

    def _attempt(self, held: HeldJob, task: BaseTask[..., Any], make_context: Callable[[], Context]) -> Outcome:
        try:
            child = self._take(held)
        except Exception as error:
            return retryable_failure(f"no process could be started for the task {task.name}: {error}", error)
        context = make_context()

        def stop(reason: StopHandler) -> None:
            child.tell(reason)

        child.tell(Order.of(held, task, context.last_progress, context.keep_line is not None))
        held.stop.on_stop(stop)
        try:
            # Seen from here: a tracer of the worker's does not exist in the process.
            with nullcontext() if self._around is None else self._around(held.job):
                return self._listen(child, context, held)
        finally:
            self._give_back(held, child)

    def _listen(self, child: _Child, context: Context, held: HeldJob) -> Outcome:
        """Until the job has ended, or its process has."""
        try:
            while True:
                said: Said = child.pipe.recv()
                if said.kind == "outcome":
                    outcome: Outcome = said.value
                    return outcome
                if said.kind == "progress":
                    context.progress(said.value)
                elif said.kind == "line":
                    if context.keep_line is not None:
                        context.keep_line(said.value)
                elif said.kind == "leased":
                    child.tell(("leased", context.leased()))
                else:
                    self._checkpoint(child, held, said.value)
        except (OSError, EOFError):
            child.process.join(5)
            return _ended(child.process.exitcode)

    def _checkpoint(self, child: _Child, held: HeldJob, question: Question) -> None:
        """Calls the server for the process. In a thread: steps of a handler may end side by side."""
        store = self._store_of(held)
        self._threads.run(lambda: child.tell(question.answered_by(store)))

    def _take(self, held: HeldJob) -> _Child:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is None or not child.process.is_alive():
            child = _Child(self._client, self._logger_name)
        with self._lock:
            self._busy[held.lease.number] = child
        return child

    def _give_back(self, held: HeldJob, child: _Child) -> None:
        with self._lock:
            self._busy.pop(held.lease.number, None)
            if not self._closed and child.process.is_alive():
                self._idle.append(child)
                return
        child.kill()


def _ended(code: int | None) -> Failed:
    how = f"by signal {-code}" if code is not None and code < 0 else f"with code {code}"
    return retryable_failure(f"the process that ran the job ended {how}")
