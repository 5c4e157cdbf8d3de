"""A context for handlers that are called by a test."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

from ..errors.handler_errors import JobCancelled, StopHandler
from ..tasks.context import StepOf
from ..wire.types import NewLogLine
from ..worker.durable.state import CheckpointStore, DurableState
from ..worker.leases.stop_switch import StopSwitch
from ..worker.running.context import ChildClient, Context
from ..worker.running.process_child import ShippedJob
from .fake.checkpoints import GivenCheckpoints


class RecordedContext(Context):
    """A JobContext that keeps what the handler says.

    >>> ctx = job_context(attempt=2)
    >>> resize(ctx, image=7)
    >>> ctx.said
    [{'done': 1}]
    """

    def __init__(
        self,
        job: ShippedJob,
        client: ChildClient | None,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
        on_line: Callable[[NewLogLine], None] | None = None,
        last_progress: Mapping[str, Any] | None = None,
        checkpoints: CheckpointStore | None = None,
        started_at: str | None = None,
    ) -> None:
        #: Every progress that was said, in order.
        self.said: list[Mapping[str, Any]] = []
        #: Every line that was written to `ctx.log`, in order.
        self.lines: list[NewLogLine] = []
        self._switch = StopSwitch()

        def keep(value: Mapping[str, Any]) -> None:
            self.said.append(json.loads(json.dumps(value)))
            if on_progress is not None:
                on_progress(value)

        def keep_line(line: NewLogLine) -> None:
            self.lines.append(line)
            if on_line is not None:
                on_line(line)

        def is_leased() -> bool:
            return self._switch.reason is None

        logger = logging.getLogger("millrace.testing")
        store = GivenCheckpoints({}, {}, {}) if checkpoints is None else checkpoints
        # Sleeps never wait in place in a test.
        state = DurableState(store, started_at or "9999-01-01T00:00:00Z", lambda: 0.0, self._switch)
        super().__init__(job, self._switch, logger, client, last_progress, is_leased, keep, lambda: state, keep_line)

    def stop(self, reason: StopHandler | None = None) -> None:
        """From now on `check()` raises: that the job was cancelled, unless said otherwise."""
        self._switch.stop(reason or JobCancelled("the job was cancelled"))

    @staticmethod
    def of_record(
        record: Mapping[str, Any],
        client: ChildClient,
        on_progress: Callable[[Mapping[str, Any]], None],
        on_line: Callable[[NewLogLine], None],
        checkpoints: CheckpointStore,
    ) -> RecordedContext:
        step = record["workflow_id"]
        job = ShippedJob(
            record["id"],
            record["task_name"],
            record["queue_name"],
            record["tenant_id"],
            record["delivery_count"],
            record["retry_count"],
            record["config"]["max_retries"],
            record["metadata"],
            None if step is None else StepOf(step, record["workflow_step_id"]),
            json.dumps(record["payload"], separators=(",", ":")),
        )
        return RecordedContext(job, client, on_progress, on_line, None, checkpoints, record["started_at"])


def job_context(
    *,
    task: str = "test",
    queue: str = "tasks",
    attempt: int = 1,
    max_retries: int = 3,
    payload: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    client: ChildClient | None = None,
    last_progress: Mapping[str, Any] | None = None,
    checkpoints: Mapping[str, Any] | None = None,
    signals: Mapping[str, Any] | None = None,
    calls: Mapping[str, Any] | None = None,
) -> RecordedContext:
    """A context to call a handler with.

    `checkpoints` are what earlier attempts have stored, by step; `signals` what waits get, by their name; `calls` what
    `ctx.call` gets, a list of results for `call_all`, an exception for one that failed. Without one they time out.
    Sleeps are over at once.
    """
    job = ShippedJob(
        "019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10",
        task,
        queue,
        "tenant1",
        attempt,
        attempt - 1,
        max_retries,
        metadata or {},
        None,
        json.dumps(payload or {}),
    )
    given = GivenCheckpoints(checkpoints or {}, signals or {}, calls or {})
    return RecordedContext(job, client, None, None, last_progress, given)
