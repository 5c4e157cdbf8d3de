"""Workflows by id, and lists of them: `client.workflows`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from ..errors.call_errors import refused
from ..errors.outcome_errors import WorkflowCancelledError, WorkflowFailedError
from ..exactjson.text import read
from ..http.connections import Line
from ..http.event_stream import ServerEvent
from ..http.transport import Request
from ..shared.durations import Duration
from ..shared.off_loop import off_loop
from ..wire.types import (
    ResumeWorkflow,
    Workflow,
    WorkflowEvent,
    WorkflowResumed,
    WorkflowStatus,
    WorkflowStep,
    WorkflowStepInput,
)
from ..workflows.workflow import WorkflowHandle
from .enqueue import json_of
from .listing import Listing, list_query
from .session import Session, segment
from .signals import Signals
from .wait import DEFAULT_WAIT, TimeLimit, wait_for
from .watch import Seen, watch

_GOING_ON = frozenset({"created", "running"})


class RemoteWorkflow:
    """A workflow by its id; a WorkflowHandle. Makes no call by itself."""

    def __init__(self, session: Session, workflow_id: str) -> None:
        self._session = session
        self._id = workflow_id
        self._path = f"/workflows/{segment(workflow_id)}"

    @property
    def id(self) -> str:
        return self._id

    def get(self) -> Workflow:
        workflow: Workflow = self._session.read(self._path)
        return workflow

    def status(self) -> WorkflowStatus:
        return self.get()["status"]

    def steps(self) -> Sequence[WorkflowStep]:
        steps: Sequence[WorkflowStep] = self._session.read(f"{self._path}/steps")["steps"]
        return steps

    def results(self, timeout: Duration = DEFAULT_WAIT) -> dict[str, Any]:
        return self._results(timeout, None)

    def watch(self) -> Iterator[WorkflowEvent]:
        return watch(self._session.transport, f"{self._path}/events", _see, Line())

    def cancel(self) -> None:
        self._session.change("POST", f"{self._path}/cancel", done_if=("already_finished",))

    def signal(self, name: str, value: Any = None, *, idempotency_key: str | None = None) -> bool:
        return Signals(self._session).send_to_workflow(self._id, name, value, idempotency_key=idempotency_key)

    def resume(
        self,
        *,
        steps: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Sequence[str]:
        return self._resume(_resumption(steps, context, dry_run), key)

    async def aget(self) -> Workflow:
        return await off_loop(self.get)

    async def aresults(self, timeout: Duration = DEFAULT_WAIT) -> dict[str, Any]:
        line = Line()
        return await off_loop(lambda: self._results(timeout, line), line.cut)

    async def acancel(self) -> None:
        await off_loop(self.cancel)

    async def asignal(self, name: str, value: Any = None, *, idempotency_key: str | None = None) -> bool:
        signals = Signals(self._session)
        return await signals.asend_to_workflow(self._id, name, value, idempotency_key=idempotency_key)

    async def aresume(
        self,
        *,
        steps: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Sequence[str]:
        line = Line()
        body = _resumption(steps, context, dry_run)
        return await off_loop(lambda: self._resume(body, key, line), line.cut)

    def _resume(self, body: ResumeWorkflow, key: str | None, line: Line | None = None) -> Sequence[str]:
        path = f"{self._path}/resume"
        resumed: WorkflowResumed = self._session.create(path, body, key=key, key_feature="idempotency", line=line)
        return resumed["steps"]

    def _results(self, timeout: Duration, line: Line | None) -> dict[str, Any]:
        """Workflows have no long poll; the pauses between the questions grow to two seconds."""

        def ask(_: int) -> Workflow | None:
            found: Workflow = self._session.transport.call(Request("GET", self._path, attempts=1, line=line)).body
            return None if found["status"] in _GOING_ON else found

        ended = wait_for(f"the workflow {self._id}", TimeLimit(timeout), ask, long_polls=False, line=line)
        return _results_of(ended, self.steps())

    def __repr__(self) -> str:
        return f"<workflow {self._id}>"


class Workflows:
    def __init__(self, session: Session) -> None:
        self._session = session

    def get(self, workflow_id: str) -> Workflow:
        return RemoteWorkflow(self._session, workflow_id).get()

    def handle(self, workflow_id: str) -> WorkflowHandle:
        """A workflow that was started elsewhere. Makes no call."""
        return RemoteWorkflow(self._session, workflow_id)

    def list(
        self,
        *,
        status: WorkflowStatus | None = None,
        name: str | None = None,
        limit: int | None = None,
        oldest_first: bool = False,
        created_after: datetime | None = None,
        created_before: datetime | None = None,
    ) -> Listing[Workflow]:
        """Workflows, the newest first."""
        query = list_query(limit, oldest_first, created_after, created_before, status=status, name=name)
        return Listing("workflows", limit, lambda cursor: self._session.read("/workflows", {**query, "cursor": cursor}))

    def cancel(self, workflow_id: str) -> None:
        """Cancels a workflow and every step of it that has not ended. Raises AlreadyFinishedError if it has ended."""
        RemoteWorkflow(self._session, workflow_id).cancel()

    def resume(
        self,
        workflow_id: str,
        *,
        steps: Sequence[str] | None = None,
        context: Mapping[str, Any] | None = None,
        dry_run: bool = False,
        key: str | None = None,
    ) -> Sequence[str]:
        """Lets a workflow that failed, failed in part or was cancelled go on: see `WorkflowHandle.resume`."""
        run = RemoteWorkflow(self._session, workflow_id)
        return run.resume(steps=steps, context=context, dry_run=dry_run, key=key)

    def diagram(self, workflow_id: str) -> str:
        """Mermaid source: one node per step, coloured by its status."""
        return str(self._session.read(f"/workflows/{segment(workflow_id)}/diagram")["diagram"])


def start_workflow(
    session: Session,
    name: str,
    steps: Sequence[WorkflowStepInput],
    key: str | None,
    metadata: Mapping[str, Any] | None,
) -> RemoteWorkflow:
    if any("when" in step or "wait" in step for step in steps) and not session.features.has("step_rules"):
        raise refused(f"this server is too old for the workflow {name}: its steps cannot decide or wait")
    written = [_with_metadata(session, step) for step in steps]
    body: dict[str, Any] = {"name": name, "steps": written}
    if metadata:
        body["metadata"] = dict(metadata)
    created = session.create("/workflows", body, key=key, key_feature="idempotency")
    return RemoteWorkflow(session, created["workflow_id"])


def _resumption(steps: Sequence[str] | None, context: Mapping[str, Any] | None, dry_run: bool) -> ResumeWorkflow:
    if isinstance(steps, str):
        raise TypeError(f"steps is a list of names, not the text {steps!r}")
    body: ResumeWorkflow = {}
    if steps is not None:
        body["steps"] = list(steps)
    if context is not None:
        body["context"] = json_of(dict(context))
    if dry_run:
        body["dry_run"] = True
    return body


def _with_metadata(session: Session, step: WorkflowStepInput) -> dict[str, Any]:
    task = step.get("task_name")
    if task is None:
        return {**step}  # a step that waits creates no job of the caller's
    metadata = session.metadata(task, step.get("metadata"))
    return {**step, "metadata": metadata} if metadata else {**step}


def _results_of(workflow: Workflow, steps: Sequence[WorkflowStep]) -> dict[str, Any]:
    """The results by step. Only steps that have completed are looked up.

    A key of another step's result may have the name of one that failed.
    """
    if workflow["status"] == "failed":
        raise WorkflowFailedError(workflow, steps)
    if workflow["status"] == "cancelled":
        raise WorkflowCancelledError(workflow)
    return {step["name"]: workflow["context"].get(step["name"]) for step in steps if step["status"] == "completed"}


def _see(event: ServerEvent) -> Seen | None:
    if event.event != "status":
        return None
    parsed = read(event.data)
    return Seen(parsed, parsed["workflow"]["status"] not in _GOING_ON)
