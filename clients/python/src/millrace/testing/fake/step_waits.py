"""Ends steps that wait for signals: with the value of one, or at the deadline."""

from __future__ import annotations

import json
from typing import Any

from .settle import claim, complete, fail
from .step_rules import WAIT_TASK, wait_of
from .store import Store, StoredJob


def first_wait_due(store: Store) -> int | None:
    """The first instant at which a step has waited long enough; None if none waits."""
    due = [job.due_at for job in store.jobs.values() if job.waits and job.record["task_name"] == WAIT_TASK]
    return min(due, default=None)


def end_waits(store: Store) -> None:
    """Ends every step whose time has come. What follows may wait, too, and have its signal already."""
    while ended := claim(store, most=100, lease_secs=30, worker_id=None, tasks={WAIT_TASK}):
        for job in ended:
            _end(store, job)


def _end(store: Store, job: StoredJob) -> None:
    workflow = store.workflows.get(job.record["workflow_id"] or "")
    wait = None if workflow is None else wait_of(workflow, job)
    if wait is None or job.has_ended:
        return
    answer: dict[str, Any] = job.checkpoints.get(wait["signal"], {}).get("value", {})
    if "value" in answer:
        value = answer["value"]
        complete(store, job, value if isinstance(value, dict) else {"value": value})
    elif wait.get("on_timeout") == "continue":
        complete(store, job, {"timed_out": True})
    else:
        secs = wait["timeout_secs"]
        fail(store, job, f"no signal {json.dumps(wait['signal'])} came within {secs} s", retryable=False)
