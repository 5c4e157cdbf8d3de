"""Checkpoints of jobs in processes of their own: the worker makes the calls, which holds the leases and the token."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Literal

from ...errors.handler_errors import NonRetryableError, StopHandler
from ...wire.types import ChildJob
from ..durable.state import CheckpointStore, Stored
from ..reports.outcome import message_of


@dataclass(frozen=True)
class Reply:
    """The answer to a question; `error` is what is to be raised instead."""

    number: int
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True)
class Question:
    """A call of a CheckpointStore."""

    number: int
    method: Literal["load", "store", "create", "enqueue"]
    arguments: tuple[Any, ...]

    def answered_by(self, store: CheckpointStore) -> Reply:
        """Never raises."""
        try:
            return Reply(self.number, getattr(store, self.method)(*self.arguments))
        except (StopHandler, NonRetryableError) as error:
            return Reply(self.number, error=type(error)(str(error)))
        except BaseException as error:  # of any other class, which may not survive the pipe
            return Reply(self.number, error=RuntimeError(message_of(error)))


class AskedCheckpoints:
    """A CheckpointStore that asks the worker. Steps may end side by side, so answers find whoever asked."""

    def __init__(self, ask: Callable[[Question], None]) -> None:
        self._ask = ask
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._waiting: dict[int, SimpleQueue[Reply]] = {}

    def load(self) -> Stored:
        stored: Stored = self._answer_to("load")
        return stored

    def store(self, name: str, text: str) -> Any:
        return self._answer_to("store", name, text)

    def create(self, children: Sequence[ChildJob]) -> None:
        self._answer_to("create", children)

    def enqueue(self, child: ChildJob) -> str | None:
        job_id: str | None = self._answer_to("enqueue", child)
        return job_id

    def take(self, reply: Reply) -> None:
        with self._lock:
            waiting = self._waiting.pop(reply.number, None)
        if waiting is not None:
            waiting.put(reply)

    def _answer_to(self, method: Literal["load", "store", "create", "enqueue"], *arguments: Any) -> Any:
        waiting: SimpleQueue[Reply] = SimpleQueue()
        with self._lock:
            question = Question(next(self._numbers), method, arguments)
            self._waiting[question.number] = waiting
        self._ask(question)
        reply = waiting.get()
        if reply.error is not None:
            raise reply.error
        return reply.value
