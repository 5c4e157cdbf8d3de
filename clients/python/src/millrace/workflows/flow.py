"""The steps of a workflow as they are written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

from ..exactjson.text import read, write
from ..shared.durations import Duration
from ..tasks.call import Call
from ..tasks.conversion import to_json
from ..tasks.policy import DEFAULT_QUEUE
from ..wire.types import Ask, OnFailure, OnTimeout, WorkflowStepInput
from .references import FIELD, Reference
from .rules import When, written_wait

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
        when: When | None = None,
        on_failure: OnFailure = "halt",
    ) -> Step[R]:
        """Adds a step. A reference among its arguments or in `when` is a dependency; `after` names further ones.

        `when` is a condition, without which it does not run. `on_failure`: `halt` fails the workflow, `skip` skips what
        follows, `continue` goes on without the result.
        """
        self._check_new(name)
        options = call.merged
        if options.delay is not None or options.run_at is not None or options.key is not None:
            raise TypeError(f"the step {name} runs when its turn comes: it has no delay, instant or key of its own")
        payload, targets = self._payload(name, call.payload)
        step: WorkflowStepInput = {
            "name": name,
            "task_name": call.task.name,
            "payload": payload,
            "depends_on": self._depends_on(name, targets, after, when),
            "queue": options.queue or DEFAULT_QUEUE,
            "config": options.config(None if targets else payload),
        }
        return self._add(step, when, on_failure, options.metadata)

    def wait(
        self,
        name: str,
        *,
        timeout: Duration,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
        on_timeout: OnTimeout = "fail",
        after: Sequence[Step[Any]] = (),
        when: When | None = None,
        on_failure: OnFailure = "halt",
        metadata: Mapping[str, Any] | None = None,
    ) -> Step[Any]:
        """Adds a step that waits for a signal instead of running a task. The value of the signal is its result.

        The signal has the name of the step and the id of the workflow as key, unless said otherwise:
        `run.signal(name, value)` sends it. What is no object becomes `{"value": …}`. `ask` is a question to a person,
        shown where waits are. If none comes in time the step fails; with `on_timeout="continue"` it completes with
        `{"timed_out": True}`.

        >>> approved = flow.wait("approved", timeout=timedelta(days=3), ask="Ship it?")  # doctest: +SKIP
        """
        self._check_new(name)
        step: WorkflowStepInput = {
            "name": name,
            "wait": written_wait(name, timeout, signal, key, ask, on_timeout),
            "depends_on": self._depends_on(name, [], after, when),
        }
        return self._add(step, when, on_failure, metadata)

    def written(self) -> list[WorkflowStepInput]:
        """The steps as they are sent."""
        return list(self._steps.values())

    def _check_new(self, name: str) -> None:
        if name in self._steps:
            raise ValueError(f"the workflow {self._workflow} has a step {name} already")

    def _depends_on(
        self, name: str, targets: Sequence[str], after: Sequence[Step[Any]], when: When | None
    ) -> list[str]:
        judged = [] if when is None or when.target is None else [when.target]
        named = (self._known(name, each) for each in [*(step.name for step in after), *judged])
        return list(dict.fromkeys([*targets, *named]))

    def _add(
        self, step: WorkflowStepInput, when: When | None, on_failure: OnFailure, metadata: Mapping[str, Any] | None
    ) -> Step[Any]:
        if when is not None:
            step["when"] = when.written()
        if on_failure != "halt":
            step["on_failure"] = on_failure
        if metadata is not None:
            step["metadata"] = dict(metadata)
        self._steps[step["name"]] = step
        return Step(step["name"])

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
