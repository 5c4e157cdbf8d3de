"""What durable jobs and steps of workflows wait for: `client.signals`."""

from __future__ import annotations

from typing import Any

from ..exactjson.text import read, write
from ..http.connections import Line
from ..shared.durations import Duration, whole_seconds
from ..shared.off_loop import off_loop
from ..tasks.conversion import to_json
from ..tasks.handles import JobHandle
from ..wire.types import SignalRequest, Wait
from ..workflows.workflow import WorkflowHandle
from .listing import Listing
from .session import Session, segment


class Signals:
    def __init__(self, session: Session) -> None:
        self._session = session

    def send(
        self, name: str, key: str, value: Any = None, *, ttl: Duration | None = None, idempotency_key: str | None = None
    ) -> bool:
        """Sends a signal to the oldest job that waits for it; returns whether one did.

        If none does, it is kept for the next, for seven days unless `ttl` says otherwise: it makes no difference which
        of the two comes first.

        >>> client.signals.send("paid", "order-7", {"cents": 1200})  # doctest: +SKIP
        """
        return self._send("/signals", _request(name, key, value, ttl), idempotency_key)

    async def asend(
        self, name: str, key: str, value: Any = None, *, ttl: Duration | None = None, idempotency_key: str | None = None
    ) -> bool:
        """The same, for asyncio."""
        line = Line()
        body = _request(name, key, value, ttl)
        return await off_loop(lambda: self._send("/signals", body, idempotency_key, line), line.cut)

    def send_to_job(
        self, job: JobHandle[Any] | str, name: str, value: Any = None, *, idempotency_key: str | None = None
    ) -> bool:
        """Sends a signal to one job, which need not wait for it yet. Raises AlreadyFinishedError if it has ended.

        >>> client.signals.send_to_job(job, "approval", {"approved": True})  # doctest: +SKIP
        """
        return self._send(_path(job, name), {"value": _json(value)}, idempotency_key)

    async def asend_to_job(
        self, job: JobHandle[Any] | str, name: str, value: Any = None, *, idempotency_key: str | None = None
    ) -> bool:
        """The same, for asyncio."""
        line = Line()
        path, body = _path(job, name), {"value": _json(value)}
        return await off_loop(lambda: self._send(path, body, idempotency_key, line), line.cut)

    def send_to_workflow(
        self, workflow: WorkflowHandle | str, name: str, value: Any = None, *, idempotency_key: str | None = None
    ) -> bool:
        """Sends a signal to one workflow, of which no step need wait for it yet; returns whether one did.

        Raises AlreadyFinishedError if it has ended.
        """
        return self._send(_workflow_path(workflow, name), {"value": _json(value)}, idempotency_key)

    async def asend_to_workflow(
        self, workflow: WorkflowHandle | str, name: str, value: Any = None, *, idempotency_key: str | None = None
    ) -> bool:
        """The same, for asyncio."""
        line = Line()
        path, body = _workflow_path(workflow, name), {"value": _json(value)}
        return await off_loop(lambda: self._send(path, body, idempotency_key, line), line.cut)

    def waits(
        self, *, name: str | None = None, key: str | None = None, ask: bool | None = None, limit: int | None = None
    ) -> Listing[Wait]:
        """Jobs that wait for signals, the newest first; with `ask`, those that ask a person something."""
        query = {"name": name, "key": key, "ask": ask}
        return Listing("waits", limit, lambda cursor: self._session.read("/waits", {**query, "cursor": cursor}))

    def _send(self, path: str, body: object, key: str | None, line: Line | None = None) -> bool:
        delivered: bool = self._session.create(path, body, key=key, line=line)["delivered"]
        return delivered


def _request(name: str, key: str, value: Any, ttl: Duration | None) -> SignalRequest:
    body: SignalRequest = {"name": name, "key": key, "value": _json(value)}
    if ttl is not None:
        body["ttl_secs"] = whole_seconds(ttl)
    return body


def _path(job: JobHandle[Any] | str, name: str) -> str:
    return f"/jobs/{segment(job if isinstance(job, str) else job.id)}/signals/{segment(name)}"


def _workflow_path(workflow: WorkflowHandle | str, name: str) -> str:
    return f"/workflows/{segment(workflow if isinstance(workflow, str) else workflow.id)}/signals/{segment(name)}"


def _json(value: Any) -> Any:
    """The value as JSON. Raises TypeError or ValueError for what is not."""
    return read(write(value, to_json))
