"""Limits that jobs name: how many of a key run at a time, and how many start in a span of time."""

from __future__ import annotations

from typing import Any

from .problem import invalid
from .store import Store, StoredJob

_MOST_LIMITS = 2
_KEY_MAX_LENGTH = 200
_RANGES = {"running": 10_000, "count": 100_000, "per_secs": 86_400, "burst": 100_000}


def check_limits(limits: list[dict[str, Any]]) -> None:
    if not 1 <= len(limits) <= _MOST_LIMITS:
        raise invalid(f"config.limits must have 1 to {_MOST_LIMITS} items")
    for index, limit in enumerate(limits):
        path = f"config.limits[{index}]"
        check_key(f"{path}.key", limit["key"])
        rate = limit.get("rate") or {}
        for name, value in [("running", limit.get("running")), *rate.items()]:
            if value is not None and not 1 <= value <= _RANGES[name]:
                raise invalid(f"{path}.{name} must be 1 to {_RANGES[name]}")
        if (rate.get("burst") or 1) > rate.get("count", 1):
            raise invalid(f"{path}.rate.burst must not be more than count")
    if len({limit["key"] for limit in limits}) < len(limits):
        raise invalid("config.limits must not name a key twice")


def check_key(path: str, key: str) -> None:
    if not 1 <= len(key) <= _KEY_MAX_LENGTH:
        raise invalid(f"{path} must have 1 to {_KEY_MAX_LENGTH} characters")


def has_room(store: Store, job: StoredJob) -> bool:
    """Whether every limit that a job names has room. The numbers are those of the newest job that named the key."""
    return all(_has_room(store, job.record["queue_name"], limit["key"]) for limit in _limits_of(job))


def take_tokens(store: Store, job: StoredJob) -> None:
    """A job that starts takes one of what each rate lets through."""
    queue = job.record["queue_name"]
    for limit in _limits_of(job):
        key = limit["key"]
        rate = _newest(_named_by(store, queue, key), key).get("rate")
        if rate is not None:
            store.tokens[queue, key] = (_tokens(store, queue, key, rate) - 1, store.clock.now)


def _has_room(store: Store, queue: str, key: str) -> bool:
    named = _named_by(store, queue, key)
    newest = _newest(named, key)
    running, rate = newest.get("running"), newest.get("rate")
    if running is not None and len([job for job in named if job.record["status"] == "running"]) >= running:
        return False
    return rate is None or _tokens(store, queue, key, rate) >= 1


def _limits_of(job: StoredJob) -> list[dict[str, Any]]:
    return job.record["config"].get("limits") or []


def _named_by(store: Store, queue: str, key: str) -> list[StoredJob]:
    return [
        job
        for job in store.jobs.values()
        if job.record["queue_name"] == queue and any(limit["key"] == key for limit in _limits_of(job))
    ]


def _newest(named: list[StoredJob], key: str) -> dict[str, Any]:
    return next(limit for limit in _limits_of(named[-1]) if limit["key"] == key)


def _tokens(store: Store, queue: str, key: str, rate: dict[str, Any]) -> float:
    """They come back evenly, up to the burst."""
    most = rate.get("burst") or 1
    tokens, at = store.tokens.get((queue, key), (most, store.clock.now))
    back = (store.clock.now - at) / 1_000_000 * (rate["count"] / rate["per_secs"])
    # Thousandths of a token are errors of rounding.
    return float(min(most, round(tokens + back, 3)))
