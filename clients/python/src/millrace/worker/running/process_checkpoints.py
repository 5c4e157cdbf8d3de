"""Checkpoints of jobs in processes of their own: the worker makes the calls, which holds the leases and the token."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

from ...errors.handler_errors import NonRetryableError, StopHandler
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
    """What has the job stored before; or, with a name: store this JSON text."""

    number: int
    name: str | None = None
    text: str = ""

    def answered_by(self, store: CheckpointStore) -> Reply:
        """Never raises."""
        try:
            value = store.load() if self.name is None else store.store(self.name, self.text)
            return Reply(self.number, value)
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
        stored: Stored = self._answer_to(None, "")
        return stored

    def store(self, name: str, text: str) -> Any:
        return self._answer_to(name, text)

    def take(self, reply: Reply) -> None:
        with self._lock:
            waiting = self._waiting.pop(reply.number, None)
        if waiting is not None:
            waiting.put(reply)

    def _answer_to(self, name: str | None, text: str) -> Any:
        waiting: SimpleQueue[Reply] = SimpleQueue()
        with self._lock:
            question = Question(next(self._numbers), name, text)
            self._waiting[question.number] = waiting
        self._ask(question)
        reply = waiting.get()
        if reply.error is not None:
            raise reply.error
        return reply.value
