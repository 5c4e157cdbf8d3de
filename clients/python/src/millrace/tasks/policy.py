"""How and when a job runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any, Literal

from ..shared.durations import Duration, whole_seconds
from ..wire.types import PartialJobConfig

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
class Options:
    """Where, how and when a job runs. Those of a call win over those of its task, field by field."""

    queue: str | None = None
    #: Within a queue, jobs of higher priority are claimed first.
    priority: int | None = None
    retries: Retries | None = None
    #: How long an attempt may take; five minutes unless said otherwise.
    timeout: Duration | None = None
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

    def config(self) -> PartialJobConfig:
        """What the service calls the configuration of a job, without the queue."""
        retries = self.retries or Retries()
        fields: dict[str, Any] = {
            "priority": self.priority,
            "max_retries": retries.max,
            "timeout_secs": _whole(self.timeout),
            "retry_backoff": retries.backoff,
            "retry_delay_secs": _whole(retries.delay),
            "retry_max_delay_secs": _whole(retries.max_delay),
            "jitter_factor": retries.jitter,
        }
        given: Any = {name: value for name, value in fields.items() if value is not None}
        config: PartialJobConfig = given
        return config


def instant(when: datetime) -> str:
    """An instant as the service reads it. A datetime without a zone could mean anything, and is refused."""
    if when.tzinfo is None:
        raise ValueError("run_at needs a time zone: datetime.now(timezone.utc) + ...")
    return when.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def _whole(duration: Duration | None) -> int | None:
    return None if duration is None else whole_seconds(duration)
