"""Event streams of the fake server."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

from ...http.connections import Line
from .problem import not_found
from .store import Store
from .workflows import step_records

# A version that changes with every event, the event, its data, and whether it is the last.
_State = tuple[Any, str, Any, bool]


class FakeStream(io.RawIOBase):
    """The state now, then after every change, until the last: line by line, as it would come from a socket."""

    def __init__(self, lines: Iterator[bytes]) -> None:
        super().__init__()
        self._lines = lines

    def readline(self, size: int | None = -1, /) -> bytes:  # noqa: ARG002 - lines are as long as they are
        return next(self._lines, b"")


def stream(store: Store, path: str, line: Line | None) -> FakeStream:
    """The stream of a path: `/jobs/:id/events` or `/workflows/:id/events`."""
    _, kind, thing, _ = path.split("/")
    with store.changed:
        if thing not in (store.jobs if kind == "jobs" else store.workflows):
            raise not_found(kind[:-1])
    look = _job_look(store, thing) if kind == "jobs" else _workflow_look(store, thing)
    return FakeStream(_events(store, look, line))


def _events(store: Store, look: Callable[[Any], _State], line: Line | None) -> Iterator[bytes]:
    version: Any = None
    while line is None or not line.is_cut:
        with store.changed:
            state = look(version)
            if state[0] == version:
                store.changed.wait(0.02)
                continue
        version, event, data, is_last = state
        yield f"event: {event}\n".encode()
        yield f"data: {json.dumps(data)}\n".encode()
        yield b"\n"
        if is_last:
            return


def _job_look(store: Store, job_id: str) -> Callable[[Any], _State]:
    def look(before: Any) -> _State:
        job = store.jobs[job_id]
        step = (job.record["status"], job.record["delivery_count"])
        version = (step, json.dumps(job.record["progress"]))
        is_progress = before is not None and before[0] == step
        event, data = ("progress", job.record["progress"]) if is_progress else ("status", job.record)
        return version, event, data, job.has_ended

    return look


def _workflow_look(store: Store, workflow_id: str) -> Callable[[Any], _State]:
    def look(_: Any) -> _State:
        workflow = store.workflows[workflow_id]
        steps = step_records(store, workflow)
        version = (workflow.record["status"], *(step["status"] for step in steps))
        return version, "status", {"workflow": workflow.record, "steps": steps}, workflow.has_ended

    return look
