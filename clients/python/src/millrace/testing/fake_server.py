"""The service in memory."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Mapping
from datetime import datetime, timezone
from typing import IO, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..client.millrace import Millrace
from ..http.connections import Line, RawAnswer
from ..http.transport import Exchange
from ..shared.durations import Duration, seconds
from ..shared.off_loop import off_loop
from ..tasks.task import BaseTask
from ..wire.types import NewLogLine
from ..worker.durable.state import aconcluded, concluded
from ..worker.reports.outcome import Completed, Outcome, Released, Waiting, completion, failure
from ..workflows.references import step_payload
from .context import RecordedContext
from .fake.checkpoints import FakeCheckpoints
from .fake.crons import fire_due, first_due
from .fake.durable import suspend_job
from .fake.durable_routes import DURABLE_ROUTES
from .fake.exchange import FakeRequest, Reply, Route
from .fake.job_routes import JOB_ROUTES
from .fake.logs import keep_lines
from .fake.problem import Problem, invalid
from .fake.settle import claim, complete, expire_jobs, expire_leases, fail
from .fake.step_waits import end_waits, first_wait_due
from .fake.store import Store, StoredJob
from .fake.streams import stream
from .fake.worker_routes import WORKER_ROUTES
from .fake.workflow_routes import WORKFLOW_ROUTES

_BASE = "/api/v1"
# Longer than any handler under test should run by the fake clock.
_LEASE_SECS = 3600


class FakeServer(Exchange):
    """The service in memory, with a clock that tests move.

    Everything goes through JSON, and unknown fields are refused. Retry delays have no jitter, so tests know when. What
    it does not know (time zones and years in schedules, bulk operations, groups, attempts, reasons) it refuses, and
    says so. The same tests hold it and the real service to the same behaviour.

    >>> fake = FakeServer()
    >>> use_client(fake.client())
    >>> send_welcome.using(delay=3600).enqueue(42)
    >>> fake.advance(3600)
    >>> fake.drain(send_welcome)
    """

    def __init__(self, now: datetime | None = None) -> None:
        """The clock starts at the given instant, by default now, and does not move until `advance`."""
        self._store = Store(now or datetime.now(timezone.utc))
        self._routes = [
            (method, re.compile(re.sub(r":\w+", "([^/]+)", path)), route)
            for method, path, route in [*JOB_ROUTES, *WORKER_ROUTES, *DURABLE_ROUTES, *WORKFLOW_ROUTES]
        ]

    def client(self) -> Millrace:
        """A client of this server. For a worker: `Worker(..., exchange=fake)`."""
        return Millrace("http://millrace.test", "fake", exchange=self)

    @property
    def now(self) -> datetime:
        """What the clock says."""
        return self._store.clock.date()

    @property
    def jobs(self) -> list[dict[str, Any]]:
        """The records of all jobs, the oldest first."""
        with self._store.changed:
            return [job.record for job in self._store.jobs.values()]

    def advance(self, by: Duration) -> None:
        """Moves the clock. Schedules fire at their instants on the way; leases expire; waiting calls are answered."""
        store = self._store
        with store.changed:
            end = store.clock.now + int(seconds(by) * 1_000_000)
            while (due := _first_due(store)) is not None and due <= end:
                store.clock.now = max(due, store.clock.now)
                fire_due(store)
                end_waits(store)
            store.clock.now = end
            expire_leases(store)
            expire_jobs(store)
            end_waits(store)
            store.changed.notify_all()

    def drain(self, *tasks: BaseTask[..., Any]) -> None:
        """Runs every job of these tasks that is due, one at a time, on whatever queue, until none is left.

        Jobs that they enqueue and steps that become ready too. Retries that are not due yet stay; advance the clock for
        them.
        """
        by_name = {task.name: task for task in tasks}
        while True:
            with self._store.changed:
                claimed = claim(self._store, tasks=by_name, most=1, lease_secs=_LEASE_SECS, worker_id="drain")
            if not claimed:
                return
            self._run(claimed[0], by_name[claimed[0].record["task_name"]])

    async def adrain(self, *tasks: BaseTask[..., Any]) -> None:
        """The same, for asyncio."""
        await off_loop(lambda: self.drain(*tasks))

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float, line: Line | None
    ) -> RawAnswer:
        parts = urlsplit(path)
        with self._store.changed:
            try:
                route, params = self._find(method, parts.path.removeprefix(_BASE))
                parsed = None if body is None else json.loads(body)
                query = dict(parse_qsl(parts.query))
                request = FakeRequest(self._store, params, query, parsed, headers, timeout, line)
                status, answer = route(request)
                end_waits(self._store)
            except Problem as problem:
                status, answer = _refusal(self._store, problem)
            # Without white space, as the service writes it.
            text = b"" if answer is None else json.dumps(answer, separators=(",", ":")).encode()
        return RawAnswer(status, "", {}, text)

    def open_stream(self, path: str, line: Line | None) -> IO[bytes] | RawAnswer:
        try:
            opened: Any = stream(self._store, path.removeprefix(_BASE), line)
        except Problem as problem:
            status, answer = _refusal(self._store, problem)
            return RawAnswer(status, "", {}, json.dumps(answer).encode())
        return opened  # type: ignore[no-any-return]

    def _find(self, method: str, path: str) -> tuple[Route, list[str]]:
        for known, pattern, route in self._routes:
            found = pattern.fullmatch(path)
            if found is not None and known == method:
                return route, [unquote(part) for part in found.groups()]
        # Not 404: a client would take that for an older server.
        raise invalid(f"FakeServer does not know {method} {path}; use a real server for that")

    def _run(self, job: StoredJob, task: BaseTask[..., Any]) -> None:
        token, record = job.token, job.record
        payload = json.loads(json.dumps(record["payload"]))
        if record["workflow_id"] is not None:
            payload = step_payload(payload)
        context = RecordedContext.of_record(
            record,
            self.client(),
            lambda said: self._progress(job, token, said),
            lambda line: self._line(job, token, line),
            FakeCheckpoints(self._store, job, token),
        )
        outcome = _outcome(task, payload, context)
        with self._store.changed:
            if job.token != token:
                return
            if isinstance(outcome, Completed):
                complete(self._store, job, json.loads(outcome.result))
            elif isinstance(outcome, Waiting):
                suspend_job(self._store, job, outcome.suspension.fields())
            elif not isinstance(outcome, Released):
                fail(self._store, job, outcome.error, outcome.retryable, outcome.retry_after_secs, outcome.details)
            end_waits(self._store)

    def _progress(self, job: StoredJob, token: str | None, said: Mapping[str, Any]) -> None:
        with self._store.changed:
            if job.token == token:
                self._store.change(job, progress=json.loads(json.dumps(said)))

    def _line(self, job: StoredJob, token: str | None, line: NewLogLine) -> None:
        with self._store.changed:
            if job.token == token:
                keep_lines(self._store, job, [{**line, "at": self._store.clock.text()}])


def _first_due(store: Store) -> int | None:
    """The first instant at which something happens by itself; None if nothing does."""
    due = [at for at in (first_due(store), first_wait_due(store)) if at is not None]
    return min(due, default=None)


def _outcome(task: BaseTask[..., Any], payload: Mapping[str, Any], context: RecordedContext) -> Outcome:
    raised: BaseException | None = None
    try:
        args, kwargs = task.arguments.restore(payload)
        if task.wants_context:
            args.insert(0, context)
        if task.is_async:
            return asyncio.run(_aoutcome(task, task.function(*args, **kwargs), context))
        said = completion(task.name, task.function(*args, **kwargs))
    except BaseException as error:
        said, raised = failure(error), error
    return concluded(context.durable, said, raised)


async def _aoutcome(task: BaseTask[..., Any], running: Awaitable[Any], context: RecordedContext) -> Outcome:
    """Steps that still run are tasks of the same loop: it goes on until they have ended."""
    raised: BaseException | None = None
    try:
        said = completion(task.name, await running)
    except BaseException as error:
        said, raised = failure(error), error
    return await aconcluded(context.durable, said, raised)


def _refusal(store: Store, problem: Problem) -> Reply:
    return problem.status, {"error": str(problem), "code": problem.code, "timestamp": store.clock.text()}
