"""Workflows of the fake server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .problem import invalid
from .step_rules import WAIT_TASK, WAITS_QUEUE, begin_wait, check_rules, holds
from .store import DEFAULT_QUEUE, TENANT, Store, StoredJob, StoredWorkflow


def create_workflow(store: Store, given: dict[str, Any]) -> StoredWorkflow:
    _check_graph(given["steps"])
    check_rules(given["steps"])
    record: dict[str, Any] = {
        "id": store.new_id(),
        "name": given["name"],
        "status": "created",
        "steps": [_definition(step) for step in given["steps"]],
        "context": given.get("context") or {},
        "metadata": given.get("metadata") or {},
        "created_at": store.clock.text(),
        "started_at": None,
        "completed_at": None,
        "tenant_id": TENANT,
    }
    workflow = store.workflows[record["id"]] = StoredWorkflow(record)
    advance(store, workflow)
    return workflow


def _definition(step: dict[str, Any]) -> dict[str, Any]:
    waits = step.get("wait") is not None
    rules = {name: step[name] for name in ("when", "wait") if step.get(name) is not None}
    return {
        "name": step["name"],
        "task_name": WAIT_TASK if waits else step["task_name"],
        "payload": step.get("payload") or {},
        "depends_on": list(dict.fromkeys(step.get("depends_on") or [])),
        "config": step.get("config") or {},
        "on_failure": step.get("on_failure") or "halt",
        "on_success": "continue",
        "metadata": step.get("metadata") or {},
        **rules,
        "queue": WAITS_QUEUE if waits else step.get("queue"),
    }


def _check_graph(steps: list[dict[str, Any]]) -> None:
    if not steps:
        raise invalid("a workflow has at least one step")
    above: dict[str, list[str]] = {}
    for step in steps:
        if step["name"] in above:
            raise invalid(f"the name {step['name']} is used twice")
        above[step["name"]] = step.get("depends_on") or []
    done: set[str] = set()

    def walk(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise invalid(f"the steps form a cycle: {' → '.join((*path, name))}")
        if name not in above:
            raise invalid(f"depends_on names an unknown step: {name}")
        if name not in done:
            for other in above[name]:
                walk(other, (*path, name))
            done.add(name)

    for name in above:
        walk(name, ())


def step_status(store: Store, workflow: StoredWorkflow, name: str) -> str:
    """The state of a step: that of its job, once it has one."""
    step = workflow.steps[name]
    job = store.jobs.get(step["job_id"] or "")
    if job is None or step["status"] == "skipped":
        return str(step["status"])
    if job.has_ended:
        return str(job.record["status"])
    # Between attempts, too; and while the step waits for a signal.
    runs = job.record["delivery_count"] > 0 or job.record["task_name"] == WAIT_TASK
    return "running" if runs else "pending"


def step_records(store: Store, workflow: StoredWorkflow) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for name, step in workflow.steps.items():
        job = store.jobs.get(step["job_id"] or "")
        record = {} if job is None else job.record
        status = step_status(store, workflow, name)
        records.append(
            {
                "name": name,
                "status": status,
                "job_id": step["job_id"],
                "started_at": record.get("started_at"),
                "completed_at": record.get("completed_at"),
                "attempts": record.get("delivery_count", 0),
                "error_message": None if status == "completed" else record.get("error_message"),
                "next_retry_at": record.get("next_retry_at"),
                "run": len(step["earlier"]) + 1,
                "earlier_job_ids": step["earlier"],
                "skipped_by": step.get("skipped_by"),
            }
        )
    return records


def step_ended(store: Store, job: StoredJob, cancel: Callable[[StoredJob], None]) -> None:
    """What the end of a step's job means for its workflow."""
    workflow = store.workflows.get(job.record["workflow_id"] or "")
    name = job.record["workflow_step_id"]
    if workflow is None or workflow.has_ended or name is None:
        return
    definition = next(step for step in workflow.record["steps"] if step["name"] == name)
    if job.record["status"] == "completed":
        context = merged(workflow.record["context"], name, job.record["result"] or {}, workflow.completed)
        workflow.completed = [*workflow.completed, name]
        workflow.record = {**workflow.record, "context": context}
    elif definition["on_failure"] == "halt":
        stop_workflow(store, workflow, "failed", cancel)
        return
    elif definition["on_failure"] == "skip":
        _skip_after(workflow, name, "failure")
    advance(store, workflow)


def stop_workflow(store: Store, workflow: StoredWorkflow, status: str, cancel: Callable[[StoredJob], None]) -> None:
    """Ends a workflow: what has not ended is cancelled."""
    workflow.record = {**workflow.record, "status": status, "completed_at": store.clock.text()}
    for step in workflow.steps.values():
        job = store.jobs.get(step["job_id"] or "")
        if job is None:
            step["status"] = "skipped" if step["status"] == "skipped" else "cancelled"
        elif not job.has_ended:
            cancel(job)
    store.changed.notify_all()


def mark_started(store: Store, job: StoredJob) -> None:
    """A workflow runs as soon as one of its steps has started."""
    workflow = store.workflows.get(job.record["workflow_id"] or "")
    if workflow is not None and workflow.record["status"] == "created":
        workflow.record = {**workflow.record, "status": "running", "started_at": store.clock.text()}


def merged(context: Mapping[str, Any], name: str, result: dict[str, Any], completed: Sequence[str]) -> dict[str, Any]:
    """Keys of a result are merged, the result itself is under the name of its step; names of steps win."""
    own = {key: value for key, value in result.items() if key != "_context"}
    named = {key: value for key, value in context.items() if key in completed}
    return {**context, **own, **named, name: own}


def _skip_after(workflow: StoredWorkflow, name: str, why: str) -> None:
    """What a failure rules out, it rules out although a condition did so before."""
    for step in workflow.record["steps"]:
        state = workflow.steps[step["name"]]
        is_open = state["job_id"] is None and state["status"] == "pending"
        is_left_out = why == "failure" and state.get("skipped_by") == "condition" and not state.get("passes")
        if name in step["depends_on"] and (is_open or is_left_out):
            state.update(status="skipped", skipped_by=why)
            _skip_after(workflow, step["name"], why)


def advance(store: Store, workflow: StoredWorkflow) -> None:
    """Takes the turns that have come, and ends the workflow when nothing is left."""
    while any(_take_turn(store, workflow, definition) for definition in workflow.record["steps"]):
        pass
    statuses = {name: step_status(store, workflow, name) for name in workflow.steps}
    if "pending" in statuses.values() or "running" in statuses.values():
        return
    # A condition that does not hold is no failure.
    flawless = all(
        status == "completed" or workflow.steps[name].get("skipped_by") == "condition"
        for name, status in statuses.items()
    )
    status = "completed" if flawless else "partially_failed"
    workflow.record = {**workflow.record, "status": status, "completed_at": store.clock.text()}
    store.changed.notify_all()


def _take_turn(store: Store, workflow: StoredWorkflow, definition: dict[str, Any]) -> bool:
    """Whether the turn of the step had come: it is enqueued or, if its condition does not hold, passed over."""
    step, when = workflow.steps[definition["name"]], definition.get("when")
    if step["job_id"] is not None or step["status"] != "pending":
        return False
    if not all(_satisfies(store, workflow, name) for name in definition["depends_on"]):
        return False
    if when is None or holds(when, workflow.record["context"], lambda name: name in workflow.completed):
        step["job_id"] = _enqueue_step(store, workflow, definition)
        return True
    passes = when.get("otherwise") == "continue"
    step.update(status="skipped", skipped_by="condition", passes=passes)
    if not passes:
        _skip_after(workflow, definition["name"], "condition")
    return True


def _satisfies(store: Store, workflow: StoredWorkflow, name: str) -> bool:
    status = step_status(store, workflow, name)
    if status == "completed" or workflow.steps[name].get("passes"):
        return True
    definition = next(step for step in workflow.record["steps"] if step["name"] == name)
    return status in ("failed", "cancelled") and definition["on_failure"] == "continue"


def _enqueue_step(store: Store, workflow: StoredWorkflow, step: dict[str, Any]) -> str:
    job = store.add_job(
        {
            "task_name": step["task_name"],
            "queue_name": step["queue"] or DEFAULT_QUEUE,
            "payload": {**step["payload"], "_context": workflow.record["context"]},
            "metadata": step["metadata"],
            "workflow_id": workflow.record["id"],
            "workflow_step_id": step["name"],
        },
        step["config"],
        store.clock.now,
    )
    if step.get("wait") is not None:
        begin_wait(store, workflow, job, step["wait"])
    return str(job.record["id"])
