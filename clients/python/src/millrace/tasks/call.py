"""A task with its arguments: what a client creates a job of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .policy import Options

if TYPE_CHECKING:
    from .task import BaseTask

R = TypeVar("R", covariant=True)


@dataclass(frozen=True)
class Call(Generic[R]):
    """Made by `task.call(...)`; for `enqueue_many`, schedules and the steps of workflows."""

    task: BaseTask[..., R]
    payload: dict[str, Any]
    options: Options

    @property
    def merged(self) -> Options:
        """The options of the call over those of its task."""
        return self.options.over(self.task.options)
