"""What a handler gets beside its arguments."""

from __future__ import annotations

import itertools
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from ...shared.off_loop import off_loop
from ...tasks.call import Call
from ...tasks.context import RunningJob
from ...tasks.handles import JobHandle
from ...wire.types import NewLogLine
from ..durable.child_calls import enqueued
from ..durable.current_step import ordinal_of_call
from ..durable.handler import DurableCalls
from ..durable.state import DurableState
from ..leases.stop_switch import StopSwitch
from ..logs.job_log import JobLog
from .unreadable_job import CLIENT, UnreadableJob

R = TypeVar("R")

# What the service takes as progress.
_PROGRESS_MAX_BYTES = 16_384


class ChildClient(Protocol):
    """What `ctx.enqueue` needs of a client: a `Millrace` with a tenant's token is one.

    If it has `jobs`, as a `Millrace` has, jobs that were created are looked at through `jobs.handle`.
    """

    def enqueue(self, call: Call[R]) -> JobHandle[R]: ...

    def whoami(self) -> Any: ...


class Context(DurableCalls):
    """A JobContext. Nearly everything in it is made only for the handlers that ask for it."""

    def __init__(
        self,
        job: RunningJob,
        stop: StopSwitch,
        logger: logging.Logger,
        client: ChildClient | None,
        last_progress: Mapping[str, Any] | None,
        is_leased: Callable[[], bool],
        send_progress: Callable[[Mapping[str, Any]], None],
        make_durable: Callable[[], DurableState],
        keep_line: Callable[[NewLogLine], None] | None = None,
    ) -> None:
        """`keep_line` gets what the handler writes; None: it is for the logger alone."""
        super().__init__(make_durable)
        self._job = job
        self._stop = stop
        self._logger = logger
        self._client = client
        self._last_progress = last_progress
        self._is_leased = is_leased
        self._send_progress = send_progress
        self.keep_line = keep_line
        self._calls = itertools.count(1)
        self._allowed = False

    @property
    def job(self) -> RunningJob:
        return self._job

    @property
    def log(self) -> logging.LoggerAdapter[logging.Logger]:
        return JobLog(self._logger, self._job, self.keep_line)

    @property
    def last_progress(self) -> Mapping[str, Any] | None:
        return self._last_progress

    def check(self) -> None:
        if self._stop.reason is not None:
            raise self._stop.reason

    def stopping(self) -> bool:
        return self._stop.reason is not None

    def wait(self, seconds: float) -> None:
        self._stop.wait(seconds)
        self.check()

    def leased(self) -> bool:
        return self._is_leased()

    def progress(self, value: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        said = {**(value or {}), **fields}
        problem = _problem_with(said)
        if problem is None:
            self._send_progress(said)
        else:
            self.log.warning("progress %s; it is not sent", problem)

    def key(self, name: str) -> str:
        """The service says in the metadata of a replay where it comes from."""
        metadata = self._job.metadata
        origins = (metadata.get("replayed_from_first"), metadata.get("replayed_from_job"))
        return f"{next((each for each in origins if isinstance(each, str)), self._job.id)}:{name}"

    def enqueue(self, call: Call[R]) -> JobHandle[R]:
        return self._child(call, ordinal_of_call(self._calls))

    async def aenqueue(self, call: Call[R]) -> JobHandle[R]:
        ordinal = ordinal_of_call(self._calls)
        return await off_loop(lambda: self._child(call, ordinal))

    def _child(self, call: Call[R], ordinal: str) -> JobHandle[R]:
        """Another attempt that makes the same calls in the same order creates none of them twice.

        What the worker may not create in the job's name, and what is found by a key of its own, go through the client:
        then the key is made of this job's id and the same ordinal.
        """
        client = self._client
        options = call.merged
        if options.key is None and options.unique is None:
            job_id = enqueued(self._made_state(), ordinal, call)
            if job_id is not None:
                jobs: Any = getattr(client, "jobs", None)
                return UnreadableJob(job_id) if jobs is None else jobs.handle(call.task, job_id)
        if client is None:
            raise RuntimeError(f"ctx.enqueue needs a client here: {CLIENT}")
        if not self._allowed:
            if client.whoami()["tenant_id"] != self._job.tenant:
                tenant = self._job.tenant
                raise RuntimeError(f"the job belongs to the tenant {tenant}, the worker's client to another")
            self._allowed = True
        key = options.key or f"{self._job.id}:{ordinal}"
        return client.enqueue(replace(call, options=replace(call.options, key=key)))


def _problem_with(value: Mapping[str, Any]) -> str | None:
    try:
        size = len(json.dumps(value, allow_nan=False, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    except (TypeError, ValueError) as error:
        return f"is not JSON ({error})"
    return f"has {size} bytes; {_PROGRESS_MAX_BYTES} are the most" if size > _PROGRESS_MAX_BYTES else None
