"""Takes jobs from their claim to their report."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors.handler_errors import JobCancelled, JobTimeout, LeaseLost, ShuttingDown
from ...tasks.task import BaseTask
from ...workflows.references import step_payload
from ..durable.checkpoint_calls import CheckpointCalls, Checkpoints
from ..durable.state import CheckpointStore, DurableState
from ..events import EventSink
from ..leases.claimed_job import ClaimedJob
from ..leases.held_jobs import HeldJob, HeldJobs
from ..leases.keeper import Keeper
from ..leases.poller import Claimed
from ..leases.slots import Slots
from ..logs.log_sender import LogSender
from ..options import Settings
from ..reports.failure_log import FailureLog
from ..reports.outcome import Completed, Failed, Outcome, Released, Waiting
from ..reports.reporter import Reported, Reporter
from .attempt import Verdict, timed_out, verdict_of
from .context import Context
from .lanes import Lane, LoopLane, ThreadLane
from .process_lane import ProcessLane
from .progress_memory import ProgressMemory

# How long a handler whose time is up may take to notice, before its attempt is reported as failed without it.
_GRACE_SECS = 5.0
# How long after being told to stop a handler that goes on is mentioned; one in a process of its own is ended.
_IGNORED_SECS = 10.0
# Jobs of an unknown task pause for this long, and twice as long at each delivery.
_UNKNOWN_FIRST_SECS = 5
_UNKNOWN_MOST_SECS = 300
_MOST_UNKNOWN = 1_000


class JobRunner:
    """Runs jobs.

    A job is running (its handler has not ended), then reporting (its outcome is on the way), then let go. It is let go
    without a report when a heartbeat says that it was cancelled or taken away.
    """

    def __init__(self, settings: Settings, jobs: HeldJobs, events: EventSink, changed: Callable[[], None]) -> None:
        self._settings = settings
        self._jobs = jobs
        self._events = events
        self._changed = changed
        self._failures = FailureLog(settings.logger)
        self._progress = ProgressMemory()
        self._lock = threading.Lock()
        # Jobs whose handlers have not ended, also those that are no longer held.
        self._running: dict[int, HeldJob] = {}
        # Tasks that came although there is no handler for them, each mentioned once.
        self._unknown: set[str] = set()
        self._threads = ThreadLane(settings.hooks.around_job)
        self._loop = LoopLane(settings.hooks.around_job)
        self._processes = ProcessLane(
            settings.client, settings.logger.name, self._checkpoints_of, settings.hooks.around_job
        )
        self.checkpoints: Checkpoints
        self.keeper: Keeper
        self.logs: LogSender
        self.reporter: Reporter

    @property
    def running(self) -> int:
        """How many handlers have not ended."""
        return len(self._running)

    def start(self, claimed: Claimed, slots: Slots) -> None:
        """Starts every job that a poll brought."""
        held = self._hold(claimed, slots)
        slots.take(len(held))
        with self._lock:
            self._running.update({each.lease.number: each for each in held})
        for each in held:
            self._run(each)

    def give_back(self, claimed: Claimed, slots: Slots) -> None:
        """Gives back what a poll brought, without starting it."""
        for each in self._hold(claimed, slots):
            self._report(each, Released())

    def lose(self, number: int, answer: str) -> None:
        """A heartbeat was answered with something else than `running`."""
        held = self._jobs.find(number)
        if held is None:
            return
        is_cancelled = answer == "cancelled"
        if held.reporting:
            # Most likely the lease is over because our own report was taken, whose answer is still under way: that
            # answer says which. Only what was cancelled meanwhile needs none.
            if is_cancelled:
                self.reporter.drop(held, "cancelled")
            return
        self._jobs.let_go([held])
        held.stop.stop(
            JobCancelled("the job was cancelled") if is_cancelled else LeaseLost("the job was given to another worker")
        )
        self._events.emit("cancelled" if is_cancelled else "lease_lost", held.job, _age(held))
        self._changed()

    def reported(self, ended: Sequence[tuple[HeldJob, Reported]]) -> None:
        """The reporter says how reports ended."""
        self.keeper.drop([held.lease.number for held, _ in ended])
        for held, how in ended:
            held.slots.end_report()
            if isinstance(how, Completed):
                self._progress.forget(held.job.id)
                self._events.count("completed")
                self._events.emit("completed", held.job, _age(held))
            elif isinstance(how, Failed):
                self._failures.write(held.job, how)
                self._events.count("failed")
                self._events.emit("failed", held.job, _age(held), how.cause or how.error)
            elif isinstance(how, Released):
                self._events.count("released")
                self._events.emit("released", held.job, _age(held))
            elif isinstance(how, Waiting):
                self._events.emit("suspended", held.job, _age(held))
            else:
                self._events.emit("cancelled" if how == "cancelled" else "lease_lost", held.job, _age(held))
        self._changed()

    def look_after(self) -> None:
        """Called several times per second: time limits, and handlers that ignore that they were told to stop."""
        now = time.monotonic()
        for held in list(self._running.values()):
            stop = held.stop
            if stop.reason is None:
                if now > held.started_at + held.timeout:
                    stop.stop(JobTimeout(f"timed out after {held.timeout:g} s"))
            elif isinstance(stop.reason, JobTimeout) and not held.judged and now > stop.told_at + _GRACE_SECS:
                self._judge(held, timed_out(stop.reason))
            elif not held.is_mentioned and now > stop.told_at + _IGNORED_SECS:
                held.is_mentioned = True
                self._mention(held)

    def abort_all(self) -> None:
        """Tells every handler that the worker is about to end."""
        for held in list(self._running.values()):
            held.stop.stop(ShuttingDown("the worker is shutting down"))

    def release_all(self) -> None:
        """Gives back what still runs; what its handler says from now on does not count."""
        for held in list(self._running.values()):
            with self._lock:
                if held.judged or not self._jobs.has(held):
                    continue
                held.judged = True
            self._settings.logger.warning(
                "a handler ignores that the worker stops; its job is given back (job %s, task %s)",
                held.job.id,
                held.job.task,
            )
            self._report(held, Released())

    def close(self) -> None:
        self._loop.close()
        self._processes.close()

    def _hold(self, claimed: Claimed, slots: Slots) -> list[HeldJob]:
        lease_secs = self._settings.lease_secs
        held: list[HeldJob] = []
        for index, leased in enumerate(claimed.jobs):
            record = leased["job"]
            held.append(
                self._jobs.hold(
                    ClaimedJob(record, claimed.answer, index),
                    _payload_of(record),
                    record["config"]["timeout_secs"],
                    slots,
                    leased["lease_token"],
                    claimed.called_at + lease_secs,
                )
            )
        # Before the first handler starts: it may hold the interpreter's lock from then on.
        self.keeper.hold([each.lease for each in held], claimed.called_at + lease_secs / 2)
        return held

    def _run(self, held: HeldJob) -> None:
        task = self._settings.tasks.get(held.job.task)
        if task is None:
            self._leave_to_others(held)
            return
        self._events.emit("started", held.job)
        self._lane(task).run(held, task, lambda: self._context(held), self._ended)

    def _leave_to_others(self, held: HeldJob) -> None:
        """A job of a task that this worker does not know goes back, which costs no retry: a newer worker may know it.

        The pause grows, or a queue that nobody can work on would be passed round without end.
        """
        job = held.job
        with self._lock:
            is_new = job.task not in self._unknown and len(self._unknown) < _MOST_UNKNOWN
            if is_new:
                self._unknown.add(job.task)
        if is_new:
            self._settings.logger.warning(
                "there is no handler for the task %s here; its jobs go back to the queue %s, with a pause",
                job.task,
                job.queue,
            )
        delay = min(_UNKNOWN_FIRST_SECS * 2 ** min(job.attempt - 1, 10), _UNKNOWN_MOST_SECS)
        self._ended(held, Released(delay))

    def _lane(self, task: BaseTask[..., Any]) -> Lane:
        return self._processes if task.process else self._loop if task.is_async else self._threads

    def _ended(self, held: HeldJob, said: Outcome) -> None:
        """The handler itself has ended: until then it takes a slot."""
        self._judge(held, verdict_of(held.stop.reason, said))
        with self._lock:
            self._running.pop(held.lease.number, None)
        held.slots.leave()
        self._changed()

    def _judge(self, held: HeldJob, verdict: Verdict) -> None:
        with self._lock:
            if held.judged:
                return
            held.judged = True
        # It may have been taken away after its handler was told to stop for another reason.
        if not isinstance(verdict, str) and self._jobs.has(held):
            self._report(held, verdict)

    def _report(self, held: HeldJob, outcome: Outcome) -> None:
        held.slots.start_reports()
        self.reporter.report(held, outcome)

    def _mention(self, held: HeldJob) -> None:
        task = self._settings.tasks.get(held.job.task)
        ended = task is not None and self._lane(task).abandon(held)
        what = "its process was ended" if ended else "it keeps its slot"
        self._settings.logger.warning(
            "a handler goes on although it was told to stop; %s (job %s, task %s: %s)",
            what,
            held.job.id,
            held.job.task,
            held.stop.reason,
        )

    def _context(self, held: HeldJob) -> Context:
        return Context(
            held.job,
            held.stop,
            self._settings.logger,
            self._settings.client,
            self._progress.get(held.job.id),
            lambda: self._is_leased(held),
            lambda value: self._send_progress(held, value),
            lambda: self._durable(held),
            (lambda line: self.logs.write(held, line)) if self._settings.logs == "server" else None,
        )

    def _durable(self, held: HeldJob) -> DurableState:
        return DurableState(self._checkpoints_of(held), held.job.started_at, held.left, held.stop)

    def _checkpoints_of(self, held: HeldJob) -> CheckpointStore:
        return CheckpointCalls(self.checkpoints, held, lambda: self.lose(held.lease.number, "lease_lost"))

    def _is_leased(self, held: HeldJob) -> bool:
        if self._jobs.is_leased(held):
            return True
        # Whoever listens to the keeper may not have had its turn yet.
        self.keeper.catch_up()
        return self._jobs.is_leased(held)

    def _send_progress(self, held: HeldJob, value: Mapping[str, Any]) -> None:
        self._progress.set(held.job.id, value)
        if self._jobs.has(held):
            self.keeper.progress(held.lease.number, value)


def _payload_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """References are a convention of workflow steps; in any other payload they are the caller's own data."""
    payload: Mapping[str, Any] = record["payload"]
    return payload if record["workflow_id"] is None else step_payload(payload)


def _age(held: HeldJob) -> float:
    return time.monotonic() - held.started_at
