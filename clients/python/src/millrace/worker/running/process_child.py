"""What runs in a process of the pool: one job at a time, told and told of by a pipe."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, Literal

from ...errors.handler_errors import NonRetryableError, StopHandler
from ...tasks.context import StepOf
from ...tasks.task import BaseTask
from ..durable.state import DurableState, concluded
from ..leases.held_jobs import HeldJob
from ..leases.stop_switch import StopSwitch
from ..reports.outcome import Failed, Outcome, completion, failure
from .context import Context
from .process_checkpoints import AskedCheckpoints, Reply


@dataclass(frozen=True)
class ShippedJob:
    """A RunningJob that has crossed a pipe."""

    id: str
    task: str
    queue: str
    tenant: str
    attempt: int
    retry_count: int
    max_retries: int
    metadata: Mapping[str, Any]
    workflow: StepOf | None
    payload_text: str


@dataclass(frozen=True)
class Order:
    """Run this."""

    module: str
    name: str
    payload: Mapping[str, Any]
    job: ShippedJob
    last_progress: Mapping[str, Any] | None
    #: When the attempt began, by the server's clock, and how many seconds it may go on.
    started_at: str
    left: float
    #: Whether what the handler writes is kept.
    keeps_lines: bool

    @staticmethod
    def of(
        held: HeldJob, task: BaseTask[..., Any], last_progress: Mapping[str, Any] | None, keeps_lines: bool
    ) -> Order:
        job = held.job
        # Finding the text means reading an answer again: only for those who can ask for it.
        text = job.payload_text if task.wants_context else ""
        shipped = ShippedJob(
            job.id,
            job.task,
            job.queue,
            job.tenant,
            job.attempt,
            job.retry_count,
            job.max_retries,
            job.metadata,
            job.workflow,
            text,
        )
        function = task.function
        return Order(
            *(function.__module__, function.__qualname__, held.payload, shipped, last_progress),
            started_at=job.started_at,
            left=held.left(),
            keeps_lines=keeps_lines,
        )


@dataclass(frozen=True)
class Said:
    """What the process says: how the job ended, how far it is, a line, or a question about lease or checkpoints."""

    kind: Literal["outcome", "progress", "line", "leased", "checkpoint"]
    value: Any = None


def serve(pipe: Connection[Any, Any], client: Any, logger_name: str) -> None:
    """The whole life of a process of the pool."""
    # Signals to the whole group are the worker's business. A handler of our own is not inherited by what a job starts.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)
    orders: SimpleQueue[Order] = SimpleQueue()
    leased: SimpleQueue[bool] = SimpleQueue()
    current: list[StopSwitch] = []

    def listen() -> None:
        try:
            while True:
                message = pipe.recv()
                if isinstance(message, Order):
                    current[:] = [StopSwitch()]
                    orders.put(message)
                elif isinstance(message, StopHandler):
                    current[0].stop(message)
                elif isinstance(message, Reply):
                    checkpoints.take(message)
                else:
                    leased.put(message[1])
        except (OSError, EOFError):
            os._exit(1)  # the worker is gone, and with it whoever would report

    sending = threading.Lock()

    def say(said: Said) -> None:
        with sending:
            pipe.send(said)

    checkpoints = AskedCheckpoints(lambda question: say(Said("checkpoint", question)))
    threading.Thread(target=listen, daemon=True).start()

    def is_leased() -> bool:
        say(Said("leased"))
        return leased.get()

    logger = logging.getLogger(logger_name)
    while True:
        order = orders.get()
        context = Context(
            order.job,
            current[0],
            logger,
            client,
            order.last_progress,
            is_leased,
            lambda value: say(Said("progress", dict(value))),
            _durable_maker(order, current[0], checkpoints),
            (lambda line: say(Said("line", line))) if order.keeps_lines else None,
        )
        say(Said("outcome", _sendable(_run(order, context))))


def _durable_maker(order: Order, stop: StopSwitch, checkpoints: AskedCheckpoints) -> Callable[[], DurableState]:
    ends_at = time.monotonic() + order.left
    return lambda: DurableState(checkpoints, order.started_at, lambda: ends_at - time.monotonic(), stop)


def _run(order: Order, context: Context) -> Outcome:
    raised: BaseException | None = None
    try:
        task = _find(order)
        args, kwargs = task.arguments.restore(order.payload)
        if task.wants_context:
            args.insert(0, context)
        said = completion(task.name, task.function(*args, **kwargs))
    except BaseException as error:
        said, raised = failure(error), error
    return concluded(context.durable, said, raised)


def _find(order: Order) -> BaseTask[..., Any]:
    """The task by the name of its function. A program's own module has another name in a process that it starts."""
    module = "__mp_main__" if order.module == "__main__" else order.module
    found: Any = importlib.import_module(module)
    for part in order.name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, BaseTask):
        raise NonRetryableError(
            f"{order.module}.{order.name} is not a task: one with process=True is defined in a module"
        )
    return found


def _sendable(outcome: Outcome) -> Outcome:
    """What was raised may not survive the pipe; of its class, only whether it is final matters from here on."""
    if not isinstance(outcome, Failed):
        return outcome
    cause = NonRetryableError(outcome.error) if isinstance(outcome.cause, NonRetryableError) else None
    return Failed(outcome.error, outcome.retryable, outcome.retry_after_secs, outcome.details, cause)


def _ignore(*_: object) -> None:
    pass
