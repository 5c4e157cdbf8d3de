"""How and when a job runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal

from ..errors.call_errors import refused
from ..shared.durations import Duration, whole_seconds
from ..wire.types import JobConfigInput
from ..wire.types import Limit as LimitInput
from ..wire.types import Rate as RateInput

#: The queue of tasks that name none. On the server's own default queue, a server fails what it has no handler for.
DEFAULT_QUEUE = "tasks"


@dataclass(frozen=True)
class Retries:
    """When and how often a failed attempt is repeated. What is left out takes the service's default."""

    #: Retries after the first attempt: 0 to 1000, 3 unless said otherwise.
    max: int | None = None
    #: How the delay grows; exponential unless said otherwise.
    backoff: Literal["fixed", "linear", "exponential"] | None = None
    #: The first delay, 60 s unless said otherwise. In whole seconds, rounded up.
    delay: Duration | None = None
    #: The longest delay, an hour unless said otherwise.
    max_delay: Duration | None = None
    #: 0.1, the default, spreads each delay by plus or minus 10 per cent.
    jitter: float | None = None


@dataclass(frozen=True)
class Rate:
    """How many jobs may start in a span of time, evenly spaced."""

    #: 1 to 100,000.
    count: int
    #: The span: up to a day, in whole seconds, rounded up.
    per: Duration
    #: How many may start at once, after a pause; one unless said otherwise, at most `count`.
    burst: int | None = None

    def written(self) -> RateInput:
        """As it is sent."""
        rate: RateInput = {"count": self.count, "per_secs": whole_seconds(self.per)}
        if self.burst is not None:
            rate["burst"] = self.burst
        return rate


@dataclass(frozen=True)
class Limit:
    """How many jobs of a key may run at a time, how many may start in a span of time, or both; whoever enqueued them.

    A key belongs to the queue; the numbers that hold are those of the newest job.

    >>> @task(limits=[Limit("user-{user_id}", running=2), Limit("stripe", rate=Rate(100, per=60))])
    ... def export(user_id: int) -> None: ...
    """

    #: 1 to 200 characters. `{name}` stands for an argument; a function makes the key of all arguments that are sent.
    key: str | Callable[[Mapping[str, Any]], str]
    #: 1 to 10,000.
    running: int | None = None
    rate: Rate | None = None

    def written(self, payload: Mapping[str, Any] | None) -> LimitInput:
        """As it is sent. The payload is None where it is not known yet: in a step that gets it from another."""
        key = _key_of(self.key, payload)
        if self.running is None and self.rate is None:
            raise refused(f"the limit {key!r} limits nothing: give it running, a rate, or both")
        limit: LimitInput = {"key": key}
        if self.running is not None:
            limit["running"] = self.running
        if self.rate is not None:
            limit["rate"] = self.rate.written()
        return limit


@dataclass(frozen=True)
class Unique:
    """One job instead of several: while there is another of that key, a call gets that one.

    >>> @task(unique=Unique("rebuild-{site_id}"))
    ... def rebuild(site_id: int) -> None: ...
    """

    #: 1 to 200 characters, made like the key of a limit. Belongs to the queue.
    key: str | Callable[[Mapping[str, Any]], str]
    #: How long another one is in the way: until a worker first takes it, or until it has ended.
    during: Literal["waiting", "unfinished"] = "waiting"
    #: `replace`, while it waits: the other one takes the new arguments and instant.
    on_conflict: Literal["keep", "replace"] | None = None
    #: With `replace`: the longest that a job is put off, from the first call.
    max_wait: Duration | None = None

    def written(self, payload: Mapping[str, Any] | None) -> dict[str, Any]:
        """As it is sent."""
        fields = {
            "key": _key_of(self.key, payload),
            "while": self.during,
            "on_conflict": self.on_conflict,
            "max_wait_secs": _whole(self.max_wait),
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True)
class Options:
    """Where, how and when a job runs. Those of a call win over those of its task, field by field."""

    queue: str | None = None
    #: Within a queue, jobs of higher priority are claimed first.
    priority: int | None = None
    retries: Retries | None = None
    #: How long an attempt may take; five minutes unless said otherwise.
    timeout: Duration | None = None
    #: One or two: the job starts when each of them has room.
    limits: Sequence[Limit] | None = None
    #: A job that no worker has begun by then, or this long after its creation, is cancelled. Not for steps.
    expires: Duration | datetime | None = None
    #: Not for steps and schedules.
    unique: Unique | None = None
    delay: Duration | None = None
    run_at: datetime | None = None
    #: The same key creates one job, however often and from wherever it is called.
    key: str | None = None
    #: Stored with the job and returned as it is.
    metadata: Mapping[str, Any] | None = None

    def over(self, other: Options) -> Options:
        """These options, with what they leave out taken from the others."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        if self.retries is not None and other.retries is not None:
            retries = {name: value for name, value in vars(self.retries).items() if value is not None}
            given["retries"] = replace(other.retries, **retries)
        return replace(other, **given)

    def config(self, payload: Mapping[str, Any] | None) -> JobConfigInput:
        """What the service calls the configuration of a job, without the queue.

        The payload is what keys of limits are made of; None where it is not known yet.
        """
        retries = self.retries or Retries()
        fields: dict[str, Any] = {
            "priority": self.priority,
            "max_retries": retries.max,
            "timeout_secs": _whole(self.timeout),
            "retry_backoff": retries.backoff,
            "retry_delay_secs": _whole(retries.delay),
            "retry_max_delay_secs": _whole(retries.max_delay),
            "jitter_factor": retries.jitter,
            "limits": None if self.limits is None else [limit.written(payload) for limit in self.limits],
            "expires_secs": None if isinstance(self.expires, datetime) else _whole(self.expires),
            "expires_at": instant(self.expires) if isinstance(self.expires, datetime) else None,
            "unique": None if self.unique is None else self.unique.written(payload),
        }
        given: Any = {name: value for name, value in fields.items() if value is not None}
        config: JobConfigInput = given
        return config


def instant(when: datetime) -> str:
    """An instant as the service reads it. A datetime without a zone could mean anything, and is refused."""
    if when.tzinfo is None:
        raise ValueError("an instant such as run_at needs a time zone: datetime.now(timezone.utc) + ...")
    return when.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _key_of(key: str | Callable[[Mapping[str, Any]], str], payload: Mapping[str, Any] | None) -> str:
    """A key made of the arguments. The payload is None where they are not known yet."""
    if not isinstance(key, str):
        if payload is None:
            raise refused("the key must be a text here: the arguments are known when the step runs")
        return key(payload)
    if "{" not in key:
        return key
    try:
        return key.format_map(payload or {})
    except (KeyError, IndexError, ValueError, AttributeError) as error:
        raise refused(f"the key {key!r} needs an argument that is not sent: {error}") from error


def _whole(duration: Duration | None) -> int | None:
    return None if duration is None else whole_seconds(duration)
