"""Workflows: a function that writes down steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, overload

from ..errors.call_errors import refused
from ..shared.durations import Duration
from ..tasks.handles import default_sender
from ..wire.types import Workflow as WorkflowRecord
from ..wire.types import WorkflowEvent, WorkflowStatus, WorkflowStep, WorkflowStepInput
from .flow import Flow

P = ParamSpec("P")


class WorkflowHandle(Protocol):
    """A workflow that was started."""

    @property
    def id(self) -> str: ...

    def get(self) -> WorkflowRecord: ...

    def status(self) -> WorkflowStatus: ...

    def steps(self) -> Sequence[WorkflowStep]: ...

    def results(self, timeout: Duration = ...) -> dict[str, Any]:
        """Waits for the workflow to end, and returns the results of its steps by name.

        A step that failed or was skipped, by its policy, has none. Raises WorkflowFailedError, WorkflowCancelledError
        or WaitTimeoutError.
        """
        ...

    def watch(self) -> Iterator[WorkflowEvent]:
        """Yields the workflow and its steps as they are, then after every change until the workflow ends."""
        ...

    def cancel(self) -> None: ...

    def signal(self, name: str, value: Any = None, *, idempotency_key: str | None = None) -> bool:
        """Sends a signal to the step that waits for it, or will; returns whether one did.

        Raises AlreadyFinishedError if the workflow has ended.

        >>> run.signal("approved", {"by": "mia"})  # doctest: +SKIP
        """
        ...

    def resume(
        self,
        *,
        steps: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Sequence[str]:
        """Lets a workflow that failed, failed in part or was cancelled go on; returns the steps that run again.

        From the named steps, of which some may have completed, or else from every step that failed or was cancelled.
        Everything behind them runs again. `context` has keys that are put over those of the context; `dry_run` only
        says what would run. Raises ConflictError if it has not ended, or completed.

        >>> run.resume(steps=["charge"], context={"card": "tok_2"})  # doctest: +SKIP
        """
        ...

    async def aget(self) -> WorkflowRecord: ...

    async def aresults(self, timeout: Duration = ...) -> dict[str, Any]: ...

    async def acancel(self) -> None: ...

    async def asignal(self, name: str, value: Any = None, *, idempotency_key: str | None = None) -> bool: ...

    async def aresume(
        self,
        *,
        steps: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Sequence[str]: ...


class WorkflowSender(Protocol):
    """Who starts workflows: a client."""

    def start_steps(
        self, name: str, steps: list[WorkflowStepInput], key: str | None, metadata: Mapping[str, Any] | None
    ) -> WorkflowHandle: ...

    async def astart_steps(
        self, name: str, steps: list[WorkflowStepInput], key: str | None, metadata: Mapping[str, Any] | None
    ) -> WorkflowHandle: ...


@dataclass(frozen=True)
class WorkflowCall:
    """A workflow with its arguments, for a schedule."""

    name: str
    steps: Sequence[WorkflowStepInput]
    metadata: Mapping[str, Any] | None = None


class PreparedWorkflow(Generic[P]):
    """A workflow with options for one start."""

    def __init__(
        self,
        name: str,
        function: Callable[Concatenate[Flow, P], None],
        key: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        client: WorkflowSender | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self._key = key
        self._metadata = metadata
        self._client = client

    def start(self, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle:
        """Starts it. Once it has returned, the workflow is stored and will run."""
        return self._sender.start_steps(self.name, self.steps(*args, **kwargs), self._key, self._metadata)

    async def astart(self, *args: P.args, **kwargs: P.kwargs) -> WorkflowHandle:
        """The same, for asyncio."""
        return await self._sender.astart_steps(self.name, self.steps(*args, **kwargs), self._key, self._metadata)

    def call(self, *args: P.args, **kwargs: P.kwargs) -> WorkflowCall:
        """For a schedule that starts it: the arguments are those of every run. Starts nothing."""
        if self._key is not None:
            raise TypeError(f"the workflow {self.name} is started by a schedule many times: it has no key")
        return WorkflowCall(self.name, self.steps(*args, **kwargs), self._metadata)

    def steps(self, *args: P.args, **kwargs: P.kwargs) -> list[WorkflowStepInput]:
        """Runs the function and returns the steps as they would be sent. Starts nothing."""
        flow = Flow(self.name)
        self.function(flow, *args, **kwargs)
        written = flow.written()
        if not written:
            raise refused(f"the workflow {self.name} has no steps")
        return written

    @property
    def _sender(self) -> WorkflowSender:
        sender: WorkflowSender = default_sender() if self._client is None else self._client
        return sender


class Workflow(PreparedWorkflow[P]):
    """The definition of a workflow; made by `@workflow`."""

    def using(
        self, *, key: str | None = None, metadata: Mapping[str, Any] | None = None, client: WorkflowSender | None = None
    ) -> PreparedWorkflow[P]:
        """The same key starts one workflow, however often it is called."""
        return PreparedWorkflow(self.name, self.function, key, metadata, client)


class WorkflowDecorator(Protocol):
    def __call__(self, function: Callable[Concatenate[Flow, P], None], /) -> Workflow[P]: ...


@overload
def workflow(function: Callable[Concatenate[Flow, P], None], /) -> Workflow[P]: ...
@overload
def workflow(*, name: str) -> WorkflowDecorator: ...
def workflow(function: Any = None, /, *, name: str | None = None) -> Any:
    """Makes a workflow of a function that adds steps to a flow.

    >>> @workflow
    ... def order(flow: Flow, sku: str) -> None:
    ...     reserve = flow.step("reserve", reserve_stock.call(sku))
    ...     flow.step("ship", ship_parcel.call(shelf=reserve["shelf"]))
    """

    def decorate(decorated: Callable[..., None]) -> Workflow[...]:
        return Workflow(name or decorated.__name__, decorated)

    return decorate if function is None else decorate(function)
