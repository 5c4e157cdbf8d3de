"""Workflows that go on after they ended, by the service's own rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .problem import Problem, invalid
from .store import Store, StoredWorkflow
from .workflows import advance, merged, step_status

_RESUMABLE = ("failed", "partially_failed", "cancelled")
_BROKEN = ("failed", "cancelled")


def plan(store: Store, workflow: StoredWorkflow, named: Sequence[str] | None) -> list[str]:
    """The steps that run again, in the order of their definition."""
    return [name for name in workflow.steps if name in _verdicts(store, workflow, named)[0]]


def resume(store: Store, workflow: StoredWorkflow, named: Sequence[str] | None, patch: Mapping[str, Any]) -> list[str]:
    """Resets those steps, and lets the workflow go on."""
    reset, left_out = _verdicts(store, workflow, named)
    aside = [workflow.steps[name]["job_id"] for name in reset if workflow.steps[name]["job_id"] is not None]
    workflow.completed = [name for name in workflow.completed if name not in reset]
    context: dict[str, Any] = workflow.start
    for done, name in enumerate(workflow.completed):
        result = store.jobs[workflow.steps[name]["job_id"]].record["result"] or {}
        context = merged(context, name, result, workflow.completed[:done])
    workflow.start = {**workflow.start, **patch}
    for name in reset:
        step = workflow.steps[name]
        earlier = [] if step["job_id"] is None else [step["job_id"]]
        workflow.steps[name] = {"status": "pending", "job_id": None, "earlier": [*step["earlier"], *earlier]}
    for name, why in left_out.items():
        workflow.steps[name] = {**workflow.steps[name], "status": "skipped", "skipped_by": why}
    for job_id in aside:
        store.change(store.jobs[job_id], workflow_step_id=None)
    before = len(store.jobs)
    record = {"status": "running", "completed_at": None, "context": {**context, **patch}}
    workflow.record = {**workflow.record, **record}
    advance(store, workflow)
    created = list(store.jobs)[before:]
    if created:
        _replayed(store, aside, created[0])
    return [name for name in workflow.steps if name in reset]


def _verdicts(store: Store, workflow: StoredWorkflow, named: Sequence[str] | None) -> tuple[set[str], dict[str, str]]:
    """Which steps are reset, and which of those behind them stay skipped, and why."""
    status = workflow.record["status"]
    if not workflow.has_ended:
        raise Problem(409, "conflict", "the workflow has not ended, or is being removed")
    if status not in _RESUMABLE:
        message = f"the workflow is {status}; only one that failed, failed in part or was cancelled can be resumed"
        raise Problem(409, "conflict", message)
    definitions = {step["name"]: step for step in workflow.record["steps"]}
    for name in named or ():
        if name not in definitions:
            raise invalid(f"{name} is not a step of this workflow")
    statuses = {name: step_status(store, workflow, name) for name in definitions}
    first = {name for name in definitions if (statuses[name] in _BROKEN if named is None else name in named)}
    reset = _behind(definitions, first)
    left_out: dict[str, str] = {}

    def verdict(name: str) -> str | None:
        """What a dependency means for a step behind a reset one; None: it is fine."""
        step = workflow.steps[name]
        if name in reset or statuses[name] == "completed" or step.get("passes"):
            return None
        if name in left_out or statuses[name] == "skipped":
            return left_out.get(name) or str(step.get("skipped_by"))
        policy = definitions[name]["on_failure"]
        return None if policy == "continue" else "failure" if policy == "skip" else "never"

    for name in _in_order(definitions, reset):
        verdicts = {other: verdict(other) for other in definitions[name]["depends_on"]}
        is_named = named is not None and name in first
        reasons = [why for why in ("failure", "condition") if why in verdicts.values()]
        if reasons and not is_named:
            reset.discard(name)
            left_out[name] = reasons[0]
            continue
        for other, why in verdicts.items():
            if (other not in reset and statuses[other] != "completed") if is_named else why == "never":
                raise invalid(f"step {name} depends on {other}, which did not complete and does not run again")
    return reset, left_out


def _behind(definitions: Mapping[str, Any], first: set[str]) -> set[str]:
    """These steps and everything that depends on them."""
    found = set(first)
    while more := {
        name for name, step in definitions.items() if name not in found and found.intersection(step["depends_on"])
    }:
        found |= more
    return found


def _in_order(definitions: Mapping[str, Any], steps: set[str]) -> list[str]:
    """The steps, each after those of them that it depends on."""
    order: list[str] = []
    while len(order) < len(steps):
        waiting = (name for name in definitions if name in steps and name not in order)
        order.append(next(name for name in waiting if steps.intersection(definitions[name]["depends_on"]) <= {*order}))
    return order


def _replayed(store: Store, aside: Sequence[str], by: str) -> None:
    """Open dead letters of jobs that were set aside count as replayed."""
    for place, letter in enumerate(store.letters):
        if letter["job_id"] in aside and letter["replayed_at"] is None:
            store.letters[place] = {**letter, "replayed_at": store.clock.text(), "replay_job_id": by}
