"""The steps of a workflow as they are written down."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar, cast

from ..exactjson.text import read, write
from ..tasks.call import Call
from ..tasks.conversion import to_json
from ..tasks.policy import DEFAULT_QUEUE
from ..wire.types import OnFailure, WorkflowStepInput
from .references import FIELD, Reference

R = TypeVar("R")


class Step(Generic[R]):
    """A step of a workflow, and what later steps can use of it."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def result(self) -> R:
        """A reference to the whole result, with its type."""
        return cast(R, Reference(self.name))

    def __getitem__(self, field: str) -> Any:
        """A reference to a field of the result."""
        return Reference(self.name, (field,))


class Flow:
    """What the function of a workflow adds its steps to. It runs once, when the workflow is started."""

    def __init__(self, workflow: str) -> None:
        self._workflow = workflow
        self._steps: dict[str, WorkflowStepInput] = {}

    def step(
        self,
        name: str,
        call: Call[R],
        *,
        after: Sequence[Step[Any]] = (),
        on_failure: OnFailure = "halt",
    ) -> Step[R]:
        """Adds a step. A reference among its arguments is a dependency; `after` names further ones.

        `on_failure`: `halt` fails the workflow, `skip` skips what follows, `continue` goes on without the result.
        """
        if name in self._steps:
            raise ValueError(f"the workflow {self._workflow} has a step {name} already")
        options = call.merged
        if options.delay is not None or options.run_at is not None or options.key is not None:
            raise TypeError(f"the step {name} runs when its turn comes: it has no delay, instant or key of its own")
        payload, targets = self._payload(name, call.payload)
        step: WorkflowStepInput = {
            "name": name,
            "task_name": call.task.name,
            "payload": payload,
            "depends_on": list(dict.fromkeys([*targets, *(self._known(name, each.name) for each in after)])),
            "queue": options.queue or DEFAULT_QUEUE,
            "config": options.config(None if targets else payload),
        }
        if on_failure != "halt":
            step["on_failure"] = on_failure
        if options.metadata is not None:
            step["metadata"] = dict(options.metadata)
        self._steps[name] = step
        return Step(name)

    def written(self) -> list[WorkflowStepInput]:
        """The steps as they are sent."""
        return list(self._steps.values())

    def _payload(self, name: str, payload: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        targets: list[str] = []

        def convert(value: Any) -> object:
            if isinstance(value, Step):
                value = value.result
            if isinstance(value, Reference):
                targets.append(self._known(name, value.target))
                return value.written()
            return to_json(value)

        _refuse_written(name, payload)
        converted: dict[str, Any] = read(write(payload, convert))
        return converted, targets

    def _known(self, name: str, other: str) -> str:
        if other not in self._steps:
            raise ValueError(f"the step {name} comes after {other}, which is not above it")
        return other


def _refuse_written(step: str, value: object) -> None:
    """Data of the caller's own that looks like a reference would be resolved by workers."""
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        if FIELD in fields:
            raise ValueError(f"the payload of the step {step} has a field {FIELD}, which workers would resolve")
        for part in fields.values():
            _refuse_written(step, part)
    elif isinstance(value, (list, tuple)):
        for part in cast("list[object]", value):
            _refuse_written(step, part)
