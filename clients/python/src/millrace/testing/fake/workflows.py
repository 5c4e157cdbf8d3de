"""Workflows of the fake server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .problem import invalid
from .store import DEFAULT_QUEUE, ENDED, TENANT, Store, StoredJob, StoredWorkflow


def create_workflow(store: Store, given: dict[str, Any]) -> StoredWorkflow:
    _check_graph(given["steps"])
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
    _enqueue_ready(store, workflow)
    return workflow


def _definition(step: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": step["name"],
        "task_name": step["task_name"],
        "payload": step.get("payload") or {},
        "depends_on": list(dict.fromkeys(step.get("depends_on") or [])),
        "config": step.get("config") or {},
        "on_failure": step.get("on_failure") or "halt",
        "on_success": "continue",
        "metadata": step.get("metadata") or {},
        "queue": step.get("queue"),
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


def step_status(store: Store, step: dict[str, Any]) -> str:
    """The state of a step: that of its job, once it has one."""
    job = store.jobs.get(step["job_id"] or "")
    if job is None or step["status"] == "skipped":
        return str(step["status"])
    status = str(job.record["status"])
    return "running" if status == "retrying" else status


def step_records(store: Store, workflow: StoredWorkflow) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for name, step in workflow.steps.items():
        job = store.jobs.get(step["job_id"] or "")
        record = {} if job is None else job.record
        records.append(
            {
                "name": name,
                "status": step_status(store, step),
                "job_id": step["job_id"],
                "started_at": record.get("started_at"),
                "completed_at": record.get("completed_at"),
                "attempts": record.get("delivery_count", 0),
                "error_message": record.get("error_message"),
            }
        )
    return records


def step_ended(store: Store, job: StoredJob, cancel: Callable[[StoredJob], None]) -> None:
    """What the end of a step's job means for its workflow."""
    workflow = store.workflows.get(job.record["workflow_id"] or "")
    name = job.record["workflow_step_id"]
    if workflow is None or workflow.has_ended:
        return
    definition = next(step for step in workflow.record["steps"] if step["name"] == name)
    if job.record["status"] == "completed":
        _merge(workflow, name, job.record["result"] or {})
    elif definition["on_failure"] == "halt":
        stop_workflow(store, workflow, "failed", cancel)
        return
    elif definition["on_failure"] == "skip":
        _skip_after(workflow, name)
    _enqueue_ready(store, workflow)


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


def _merge(workflow: StoredWorkflow, name: str, result: dict[str, Any]) -> None:
    """Keys of a result are merged, the result itself is under the name of its step; names of steps win."""
    before = workflow.record["context"]
    keys = {key: value for key, value in result.items() if key != "_context"}
    done = {each for each, step in workflow.steps.items() if step["status"] == "completed"}
    named = {key: value for key, value in before.items() if key in done}
    workflow.steps[name]["status"] = "completed"
    workflow.record = {**workflow.record, "context": {**before, **keys, **named, name: result}}


def _skip_after(workflow: StoredWorkflow, name: str) -> None:
    for step in workflow.record["steps"]:
        state = workflow.steps[step["name"]]
        if name in step["depends_on"] and state["job_id"] is None and state["status"] != "skipped":
            state["status"] = "skipped"
            _skip_after(workflow, step["name"])


def _enqueue_ready(store: Store, workflow: StoredWorkflow) -> None:
    """Enqueues every step whose dependencies have ended well enough, and ends the workflow when nothing is left."""
    for definition in workflow.record["steps"]:
        step = workflow.steps[definition["name"]]
        if step["job_id"] is not None or step["status"] != "pending":
            continue
        if all(step_status(store, workflow.steps[name]) in ENDED for name in definition["depends_on"]):
            step["job_id"] = _enqueue_step(store, workflow, definition)
    statuses = [step_status(store, step) for step in workflow.steps.values()]
    if "pending" in statuses or "running" in statuses:
        return
    status = "completed" if set(statuses) == {"completed"} else "partially_failed"
    workflow.record = {**workflow.record, "status": status, "completed_at": store.clock.text()}
    store.changed.notify_all()


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
    return str(job.record["id"])
