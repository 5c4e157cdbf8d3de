"""Everything that a fake server knows."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from ...http.connections import Line
from ...shared.instants import moment

TENANT = "tenant1"
DEFAULT_QUEUE = "default"
ENDED = frozenset({"completed", "failed", "cancelled"})
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
# How soon a waiting call notices that its caller has hung up.
_LOOK_SECS = 0.02

# How the service fills in what a policy leaves out.
_DEFAULT_CONFIG = {
    "priority": 0,
    "max_retries": 3,
    "timeout_secs": 300,
    "retry_backoff": "exponential",
    "retry_delay_secs": 60,
    "retry_max_delay_secs": 3600,
    "jitter_factor": 0.1,
}


class Clock:
    """Stands still until it is moved. Instants are microseconds."""

    def __init__(self, start: datetime) -> None:
        self.now = (start - _EPOCH) // timedelta(microseconds=1)

    def text(self, at: int | None = None) -> str:
        moment = _EPOCH + timedelta(microseconds=self.now if at is None else at)
        return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def date(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.now)


def instant(text: str) -> int:
    """Microseconds of an instant as it is written."""
    return (moment(text) - _EPOCH) // timedelta(microseconds=1)


@dataclass
class StoredWait:
    """A wait that no checkpoint has ended yet. It is open while the job has not been suspended for another."""

    checkpoint: str
    since: int
    until: int
    signal: str | None
    key: str | None
    ask: Any
    #: The names of the children that it is for.
    children: Sequence[str] | None = None
    is_open: bool = True

    def shown(self, clock: Clock) -> dict[str, Any]:
        """As the record of its job shows it."""
        return {
            "checkpoint": self.checkpoint,
            "since": clock.text(self.since),
            "until": clock.text(self.until),
            "signal": self.signal,
            "key": self.key,
            "ask": self.ask,
        }


@dataclass(frozen=True)
class StoredSignal:
    name: str
    key: str
    value: Any
    ends_at: int

    def is_for(self, name: str | None, key: str | None) -> bool:
        return (self.name, self.key) == (name, key)


class StoredJob:
    """A job, and what its record does not show. Records are replaced, never changed: an answer stays what it was."""

    def __init__(self, record: dict[str, Any], ordinal: int, due_at: int) -> None:
        self.record = record
        self.ordinal = ordinal
        self.due_at = due_at
        self.token: str | None = None
        self.lease_ends = 0
        #: What it has stored and waited for, by name, if it is durable.
        self.checkpoints: dict[str, dict[str, Any]] = {}
        self.suspensions: dict[str, StoredWait] = {}
        #: The jobs that it has created, by name: their ids, and whether they are detached.
        self.children: dict[str, tuple[str, bool]] = {}
        #: What its handlers wrote, as far as it is kept, and how many lines that was.
        self.logs: list[dict[str, Any]] = []
        self.lines = 0

    @property
    def open_waits(self) -> list[StoredWait]:
        return [] if self.has_ended else [wait for wait in self.suspensions.values() if wait.is_open]

    @property
    def has_ended(self) -> bool:
        return self.record["status"] in ENDED

    @property
    def waits(self) -> bool:
        return self.record["status"] in ("pending", "retrying")


class StoredWorkflow:
    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        #: By the name of the step: its state while it has no job, the id of its job, and those before a resume.
        self.steps: dict[str, dict[str, Any]] = {
            step["name"]: {"status": "pending", "job_id": None, "earlier": []} for step in record["steps"]
        }
        #: What its first steps received, and the steps whose results were added to that since, in order.
        self.start: dict[str, Any] = record["context"]
        self.completed: list[str] = []

    @property
    def has_ended(self) -> bool:
        return self.record["status"] not in ("created", "running")


class StoredCron:
    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.firings: list[dict[str, Any]] = []


def full_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """As a record shows it."""
    given = {name: value for name, value in config.items() if value is not None and name != "queue"}
    return {**_DEFAULT_CONFIG, **given}


class Store:
    """The state. Whoever reads or changes it holds `changed`."""

    def __init__(self, start: datetime) -> None:
        self.clock = Clock(start)
        self.changed = threading.Condition(threading.RLock())
        self.jobs: dict[str, StoredJob] = {}
        self.workflows: dict[str, StoredWorkflow] = {}
        self.crons: dict[str, StoredCron] = {}
        self.letters: list[dict[str, Any]] = []
        #: Signals that nobody has taken yet, the oldest first.
        self.signals: list[StoredSignal] = []
        #: What a key was used for, and the answer that it got.
        self.keys: dict[str, tuple[str, Any]] = {}
        #: What is left of rates, by queue and key, and since when.
        self.tokens: dict[tuple[str, str], tuple[float, int]] = {}

    def new_id(self) -> str:
        milliseconds = self.clock.now // 1000 & (1 << 48) - 1
        random = uuid.uuid4().int & (1 << 80) - 1
        return str(uuid.UUID(int=milliseconds << 80 | random & ~(0xF << 76) | 0x7 << 76))

    def change(self, job: StoredJob, **fields: Any) -> None:
        job.record = {**job.record, **fields}
        self.changed.notify_all()

    def add_job(self, fields: Mapping[str, Any], config: Mapping[str, Any], due_at: int) -> StoredJob:
        record: dict[str, Any] = {
            **dict.fromkeys(_EMPTY),
            "id": self.new_id(),
            "status": "pending",
            "retry_count": 0,
            "delivery_count": 0,
            "created_at": self.clock.text(),
            "scheduled_at": self.clock.text(due_at),
            "tenant_id": TENANT,
            "config": full_config(config),
            **fields,
        }
        job = self.jobs[record["id"]] = StoredJob(record, len(self.jobs), due_at)
        self.changed.notify_all()
        return job

    def wait(self, holds: Callable[[], bool], secs: float, most: float, line: Line | None) -> None:
        """Waits until it holds, or so many seconds have passed, by the fake clock or a real one.

        Raises TimeoutError after `most` real seconds, and ConnectionAbortedError if the caller hangs up.
        """
        deadline = self.clock.now + int(secs * 1_000_000)
        started = time.monotonic()
        while not holds() and self.clock.now < deadline:
            if line is not None and line.is_cut:
                raise ConnectionAbortedError("hung up")
            passed = time.monotonic() - started
            if passed >= most:
                raise TimeoutError("timed out")
            if passed >= secs:
                return
            self.changed.wait(_LOOK_SECS)


_EMPTY = (
    "result",
    "error_message",
    "started_at",
    "completed_at",
    "next_retry_at",
    "idempotency_key",
    "workflow_id",
    "workflow_step_id",
    "worker_id",
    "lease_expires_at",
    "progress",
)
