"""The worker."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Literal

from ..errors.call_errors import AuthError
from ..http.transport import Exchange
from ..shared.durations import Duration, seconds
from ..tasks.task import BaseTask
from .calls.calls import AssumedFeatures
from .durable.checkpoint_calls import Checkpoints
from .events import EventSink, WorkerEvent, WorkerSummary
from .leases.heartbeat_calls import HeartbeatCalls
from .leases.held_jobs import HeldJob, HeldJobs
from .leases.keeper import Keeper, KeeperOptions, start_keeper
from .leases.poller import Claimed, Offer, Poller, PollerOptions
from .leases.slots import Slots
from .logs.log_sender import LogSender
from .options import KeeperKind, LogsKind, with_defaults
from .reports.report_calls import ReportCalls
from .reports.reporter import Reporter
from .running.context import ChildClient
from .running.job_runner import JobRunner
from .running.tracing import JobHooks
from .signals import on_signals

# How long an open poll may take to end by itself after a stop.
_POLL_GRACE_SECS = 0.5
# How long the server is given to notice that a poll was hung up.
_HUNG_UP_SECS = 0.02
# How long handlers have after they were told to stop before their jobs are given back.
_ABORT_GRACE_SECS = 5.0
# How long the last reports may take when the time is up; nothing depends on the server answering.
_LAST_REPORTS_SECS = 0.8
_TICK_SECS = 0.2
_PULSE_SECS = 1.0

Status = Literal["starting", "running", "draining", "stopped"]


@dataclass(frozen=True)
class WorkerHealth:
    """How a worker is doing, for a health check."""

    status: Status
    #: Jobs that it runs or has yet to report on.
    held: int
    #: When it last asked for jobs.
    last_poll_at: datetime | None


class Worker:
    """Runs jobs. It loses no report and steals no job.

    What it holds is heartbeaten from a process of its own until the report is answered, and a job that was cancelled or
    taken away is stopped.

    >>> Worker(send_welcome, resize, queues={"emails": 20, "images": 4}).run()  # doctest: +SKIP
    """

    def __init__(
        self,
        *tasks: BaseTask[..., Any],
        queues: Mapping[str, int] | None = None,
        url: str | None = None,
        token: str | None = None,
        client: ChildClient | None = None,
        lease: Duration = 60,
        poll: Duration = 20,
        shutdown: Duration = 25,
        name: str | None = None,
        keeper: KeeperKind | None = None,
        signals: bool = True,
        logger: logging.Logger | None = None,
        hooks: JobHooks | None = None,
        logs: LogsKind = "server",
        on_event: Callable[[WorkerEvent], None] | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        """`queues` says how many jobs of each queue run at a time: 10 of each queue of its tasks unless said otherwise.

        Without `url` and `token` it reads MILLRACE_URL and MILLRACE_WORKER_TOKEN. `client` is for `ctx.enqueue`. What
        handlers write to `ctx.log` is kept with the attempt as well, unless `logs` is "local".
        """
        self._settings = with_defaults(
            *(tasks, queues, url, token, client, lease, poll, shutdown, name, keeper, signals, logger, hooks, logs),
            exchange,
        )
        self._logger = self._settings.logger
        self._events = EventSink(on_event, self._logger)
        self._features = AssumedFeatures()
        self._jobs = HeldJobs()
        self._changed = threading.Condition()
        self._runner = JobRunner(self._settings, self._jobs, self._events, self._notice)
        self._pollers: list[Poller] = []
        self._status: Status = "starting"
        self._last_poll_at: float | None = None
        self._refused: AuthError | None = None
        self._stop_limit: float | None = None
        self._hurried = False

    @property
    def health(self) -> WorkerHealth:
        """For probes: whether it runs, what it holds, and when it last asked for more."""
        at = self._last_poll_at
        return WorkerHealth(
            self._status, len(self._jobs), None if at is None else datetime.fromtimestamp(at, timezone.utc)
        )

    def run(self) -> WorkerSummary:
        """Runs until `stop()` or a signal, and returns how its jobs ended.

        Raises AuthError, once everything that it held has ended, if the server does not accept the token. A handler
        that ignores that it was told to stop may go on after that; it does not keep the program from ending.
        """
        with self._changed:
            if self._status == "stopped" and self._stop_limit is not None:
                return self._events.summary  # stopped before it was started
            if self._status != "starting":
                raise RuntimeError("a worker runs once; make another one")
            self._status = "running"
        let_go = on_signals(self._obey) if self._settings.signals else None
        try:
            self._start()
            with self._changed:
                self._changed.wait_for(lambda: self._stop_limit is not None)
            self._drain()
        finally:
            if let_go is not None:
                let_go()
        if self._refused is not None:
            raise self._refused
        return self._events.summary

    def stop(self, timeout: Duration | None = None, *, wait: bool = True) -> None:
        """Stops: asks for no more jobs, lets handlers finish within the time, stops the rest and gives their jobs back.

        Calling it twice is one stop. It returns when the worker has stopped, unless `wait` is false.
        """
        limit = self._settings.shutdown_secs if timeout is None else seconds(timeout)
        with self._changed:
            if self._stop_limit is None:
                self._stop_limit = limit
            if self._status == "starting":
                self._status = "stopped"
            self._changed.notify_all()
            if wait:
                self._changed.wait_for(lambda: self._status == "stopped")

    def _start(self) -> None:
        settings = self._settings
        transport = settings.connection.open()
        self._runner.keeper = keeper = start_keeper(
            settings.keeper,
            KeeperOptions(
                settings.connection,
                self._features,
                settings.lease_secs,
                self._jobs.extend,
                self._runner.lose,
                self._logger,
            ),
        )
        self._runner.checkpoints = Checkpoints(transport, self._features, self._settings.hooks.on_enqueue)
        self._runner.reporter = Reporter(
            ReportCalls(transport, self._features),
            self._jobs,
            settings.lease_secs,
            self._logger,
            lambda: self._features.has("logs"),
            self._traceparent,
            self._runner.reported,
        )
        self._runner.logs = LogSender(
            HeartbeatCalls(transport, self._features, settings.lease_secs),
            self._features,
            self._jobs,
            min(max(settings.lease_secs / 4, 1.0), 5.0),
            self._logger,
            self._runner.reporter.logs_sent,
        )
        threading.Thread(target=self._look_after, args=(keeper,), name="millrace-watch", daemon=True).start()
        threading.Thread(target=self._features.ask, args=(transport,), name="millrace-whoami", daemon=True).start()
        for task in settings.tasks.values():
            if task.queue not in settings.queues:
                self._logger.warning("%s goes to the queue %s, which this worker does not poll", task.name, task.queue)
        for queue, count in settings.queues.items():
            poller = Poller(
                PollerOptions(
                    queue,
                    Slots(count),
                    transport,
                    self._logger,
                    settings.lease_secs,
                    settings.poll_secs,
                    settings.name,
                    Offer(count, tuple(settings.tasks)),
                    self._on_poll,
                    self._on_claimed,
                    self._on_refused,
                )
            )
            self._pollers.append(poller)
            poller.start()
        self._events.emit("polling")
        self._logger.info("worker %s polls %s", settings.name, ", ".join(settings.queues))

    def _drain(self) -> None:
        """None of it depends on the server answering."""
        started_at = time.monotonic()
        with self._changed:
            self._status = "draining"
            limit = self._stop_limit or 0.0
        self._events.emit("draining")
        self._logger.info("worker %s stops; %d jobs are held", self._settings.name, len(self._jobs))
        for poller in self._pollers:
            poller.stop()
        grace_until = time.monotonic() + min(_POLL_GRACE_SECS, limit)
        while time.monotonic() < grace_until and not self._hurried:
            if all(poller.join(0.01) for poller in self._pollers):
                break
        self._hang_up()
        self._within(limit - (time.monotonic() - started_at))
        if not self._is_done():
            self._runner.abort_all()
            self._within(_ABORT_GRACE_SECS)
        if not self._is_done():
            self._runner.release_all()
            self._runner.reporter.hurry()
            self._runner.reporter.drained(_LAST_REPORTS_SECS)
        left = self._runner.running
        self._runner.keeper.close()
        self._runner.logs.close()
        self._runner.reporter.close()
        self._runner.close()
        if left > 0:
            self._logger.warning("%d handlers go on although the worker has stopped", left)
        self._events.emit("stopped", secs=time.monotonic() - started_at)
        self._logger.info("worker %s has stopped: %s", self._settings.name, self._events.summary)
        with self._changed:
            self._status = "stopped"
            self._changed.notify_all()

    def _hang_up(self) -> None:
        """No poll may be open when jobs are given back: this worker would be the first to get them again."""
        still_open = [poller for poller in self._pollers if not poller.join(0)]
        for poller in still_open:
            poller.hang_up()
        for poller in still_open:
            poller.join(1.0)
        if still_open:
            time.sleep(_HUNG_UP_SECS)

    def _within(self, limit: float) -> None:
        """Waits until all is done, but not longer than the limit, and not after a second signal."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_done() or self._hurried, max(0.0, limit))

    def _is_done(self) -> bool:
        return self._runner.running == 0 and len(self._jobs) == 0

    def _notice(self) -> None:
        """Something has changed that a stop waits for."""
        if self._stop_limit is not None:
            with self._changed:
                self._changed.notify_all()

    def _on_poll(self) -> None:
        self._last_poll_at = time.time()

    def _on_claimed(self, claimed: Claimed, slots: Slots) -> None:
        # Unstarted jobs go back for free if the server can do that; otherwise a retry is worth more than a moment.
        if self._status == "draining" and self._features.has("release"):
            self._runner.give_back(claimed, slots)
        else:
            self._runner.start(claimed, slots)

    def _on_refused(self, error: AuthError) -> None:
        self._refused = self._refused or error
        self._logger.error("the server does not accept the worker's token: %s", error)
        self.stop(wait=False)

    def _traceparent(self, held: HeldJob) -> str | None:
        """A hook that raises costs the span, not the report."""
        on_report = self._settings.hooks.on_report
        if on_report is None:
            return None
        try:
            return on_report(held.job)
        except Exception:
            self._logger.exception("on_report raised")
            return None

    def _obey(self) -> None:
        """A first signal stops it; a second one gives everything back at once."""
        with self._changed:
            self._hurried = self._stop_limit is not None
        self.stop(wait=False)

    def _look_after(self, keeper: Keeper) -> None:
        pulse_at = 0.0
        while self._status != "stopped":
            time.sleep(_TICK_SECS)
            self._runner.look_after()
            if time.monotonic() >= pulse_at:
                pulse_at = time.monotonic() + _PULSE_SECS
                keeper.pulse()
