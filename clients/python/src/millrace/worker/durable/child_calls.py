"""Jobs that a job creates and waits for: what is sent, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...client.enqueue import json_of
from ...errors.handler_errors import ChildEnd, ChildFailedError, NonRetryableError
from ...shared.durations import Duration, whole_seconds
from ...tasks.call import Call
from ...tasks.policy import DEFAULT_QUEUE, instant
from ...wire.types import ChildJob
from .state import DurableState
from .suspension import Suspension

#: 30 days.
CALL_TIMEOUT_SECS = 2_592_000
# How many children one wait may be for.
_MOST_CALLS = 1_000

#: A call, and what its parent calls the job.
NamedCall = tuple[str, Call[Any]]


def called(state: DurableState, name: str, calls: Sequence[NamedCall], timeout: Duration) -> list[Any]:
    """The results of children, which are created once. Raises Suspended until all of them have ended."""
    if not calls:
        return []
    if len(calls) > _MOST_CALLS:
        raise NonRetryableError(f'"{name}" has {len(calls)} calls; {_MOST_CALLS} are the most')
    stored = state.load()
    if name in stored.values:
        return _results(name, calls, stored.values[name])
    deadline = stored.deadlines.get(name)
    if deadline is not None and state.is_over(deadline):
        return _results(name, calls, state.store.store(name, '{"timed_out":true}'))
    if deadline is None:
        # Before the call: a second wait beside this one must be seen before the handler has ended.
        state.open_wait(name)
        state.store.create([_child_job(child, call) for child, call in calls])
    wait = {"children": [child for child, _ in calls]}
    return state.suspend(Suspension(name, delay_secs=whole_seconds(timeout), wait=wait))


def enqueued(state: DurableState, ordinal: str, call: Call[Any]) -> str | None:
    """The id of a job that nobody waits for, created once per ordinal. None: the worker may not create it."""
    job = _child_job(f"enqueue {ordinal}", call)
    job["detached"] = True
    with state.running():
        return state.store.enqueue(job)


def _child_job(name: str, call: Call[Any]) -> ChildJob:
    """Arguments are sent as they were given: the worker applies defaults."""
    options = call.merged
    if options.key is not None:
        raise NonRetryableError(f'the call "{name}" has a key; its name says what is the same')
    payload = json_of(call.payload)
    config: Any = {"queue": options.queue or DEFAULT_QUEUE, **options.config(payload)}
    job: ChildJob = {"name": name, "task_name": call.task.name, "payload": payload, "config": config}
    if options.run_at is not None:
        job["run_at"] = instant(options.run_at)
    elif options.delay is not None:
        job["delay_secs"] = whole_seconds(options.delay)
    if options.metadata is not None:
        job["metadata"] = dict(options.metadata)
    return job


def _results(name: str, calls: Sequence[NamedCall], stored: Any) -> list[Any]:
    """In the order of the calls."""
    if not isinstance(stored, dict):
        stored = {}
    if stored.get("timed_out") is True:
        raise ChildFailedError(f'"{name}" did not end in time')
    ends: list[dict[str, Any]] | None = stored.get("children")
    if ends is None or len(ends) != len(calls):
        raise NonRetryableError(f'"{name}" was the name of something else before; give the call another one')
    failed = [each for each in ends if each["status"] != "completed"]
    if failed:
        children = [ChildEnd(each["name"], each["job_id"], each["status"], each.get("error")) for each in failed]
        raise ChildFailedError(_sentence(name, children, len(ends)), children)
    for each in ends:
        if each.get("omitted"):
            raise NonRetryableError(f'"{name}" cannot be kept: there is no room for the result of {each["job_id"]}')
    try:
        return [call.task.result_of(each.get("result")) for each, (_, call) in zip(ends, calls, strict=True)]
    except (TypeError, ValueError) as error:
        raise NonRetryableError(f'a result of "{name}" does not fit: {error}') from error


def _sentence(name: str, failed: Sequence[ChildEnd], total: int) -> str:
    how = failed[0].error or failed[0].status
    if total == 1:
        return f'"{name}" {"was cancelled" if failed[0].status == "cancelled" else "failed"}: {how}'
    return f'{len(failed)} of {total} of "{name}" did not complete; the first: {how}'
