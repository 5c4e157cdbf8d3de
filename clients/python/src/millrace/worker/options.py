"""What a worker serves, and how."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..client.settings import sendable_token, server_url
from ..http.transport import Exchange, Hooks
from ..shared.durations import Duration, seconds, whole_seconds
from ..tasks.task import BaseTask
from .calls.calls import Connection
from .running.context import ChildClient
from .running.tracing import JobHooks

KeeperKind = Literal["process", "thread"]
#: Where lines of `ctx.log` go: to the logger and the server, or to the logger alone.
LogsKind = Literal["server", "local"]

_MOST_SLOTS = 10_000
_DEFAULT_SLOTS = 10
_NAME_MAX_LENGTH = 255


@dataclass(frozen=True)
class Settings:
    """The options with every default applied."""

    connection: Connection
    queues: Mapping[str, int]
    tasks: Mapping[str, BaseTask[..., Any]]
    client: ChildClient | None
    lease_secs: int
    poll_secs: int
    shutdown_secs: float
    name: str
    keeper: KeeperKind
    signals: bool
    logger: logging.Logger
    hooks: JobHooks
    logs: LogsKind


def with_defaults(
    tasks: Sequence[BaseTask[..., Any]],
    queues: Mapping[str, int] | None,
    url: str | None,
    token: str | None,
    client: ChildClient | None,
    lease: Duration,
    poll: Duration,
    shutdown: Duration,
    name: str | None,
    keeper: KeeperKind | None,
    signals: bool,
    logger: logging.Logger | None,
    hooks: JobHooks | None,
    logs: LogsKind,
    exchange: Exchange | None,
) -> Settings:
    """Raises ValueError or TypeError if an option makes no sense."""
    if logs not in ("server", "local"):
        raise ValueError(f'logs is "server" or "local", not {logs!r}')
    own = logger or logging.getLogger("millrace.worker")
    hooks = hooks or JobHooks()
    calls = Hooks(on_request=hooks.on_request, on_response=hooks.on_response)
    worker_token = sendable_token(token, "MILLRACE_WORKER_TOKEN", "MILLRACE_TOKEN")
    # What is in memory cannot be reached from another process; and pipes of Windows cannot be waited for.
    own_process: KeeperKind = "process" if exchange is None and os.name == "posix" else "thread"
    return Settings(
        connection=Connection(server_url(url), worker_token, own, calls, exchange),
        queues=_slots(queues, tasks),
        tasks=_by_name(tasks),
        client=client,
        lease_secs=_within("lease", lease, 1, 3600),
        poll_secs=_within("poll", poll, 1, 30),
        shutdown_secs=seconds(shutdown),
        name=(name or f"{socket.gethostname()}-{os.getpid()}")[:_NAME_MAX_LENGTH],
        keeper=keeper or own_process,
        signals=signals,
        logger=own,
        hooks=hooks,
        logs=logs,
    )


def _slots(queues: Mapping[str, int] | None, tasks: Sequence[BaseTask[..., Any]]) -> Mapping[str, int]:
    chosen = dict(queues) if queues is not None else {task.queue: _DEFAULT_SLOTS for task in tasks}
    if not chosen:
        raise ValueError('a worker needs a task or a queue: Worker(send_welcome, queues={"emails": 10})')
    for queue, count in chosen.items():
        if queue == "":
            raise ValueError("a queue has no name")
        if not 1 <= count <= _MOST_SLOTS:
            raise ValueError(f"the queue {queue} needs from 1 to {_MOST_SLOTS} slots, not {count}")
    return chosen


def _by_name(tasks: Sequence[BaseTask[..., Any]]) -> Mapping[str, BaseTask[..., Any]]:
    known: dict[str, BaseTask[..., Any]] = {}
    for task in tasks:
        if known.setdefault(task.name, task) is not task:
            raise ValueError(f"two tasks are called {task.name}")
    return known


def _within(option: str, duration: Duration, least: int, most: int) -> int:
    whole = whole_seconds(duration)
    if least <= whole <= most:
        return whole
    raise ValueError(f"{option} must be between {least} s and {most} s, not {duration}")
