"""Jobs that running jobs have created, by the service's own rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .problem import invalid
from .store import Store, StoredJob

#: Creates a job of a body like that of `POST /jobs`, and returns its id.
Add = Callable[[dict[str, Any]], str]


def add_children(store: Store, parent: StoredJob, jobs: Sequence[dict[str, Any]], add: Add) -> list[str]:
    """Once per parent and name."""
    names = [job["name"] for job in jobs]
    if len(set(names)) < len(names):
        raise invalid("two children of one request have the same name")
    if any((job.get("config") or {}).get("unique") is not None for job in jobs):
        raise invalid("config.unique is not possible for a child: it is created once per parent and name")
    for job in jobs:
        if job["name"] not in parent.children:
            child = store.jobs[add({name: value for name, value in job.items() if name not in ("name", "detached")})]
            store.change(child, parent_job_id=parent.record["id"])
            parent.children[job["name"]] = (child.record["id"], job.get("detached") is True)
    return [parent.children[name][0] for name in names]


def check_awaited(parent: StoredJob, names: Sequence[str]) -> None:
    for name in names:
        if name not in parent.children:
            raise invalid(f'the job has no child "{name}"')
        if parent.children[name][1]:
            raise invalid(f'the child "{name}" is detached, and cannot be waited for')


def ends_of(store: Store, parent: StoredJob, names: Sequence[str]) -> dict[str, Any] | None:
    """How these children ended; None: not all of them have."""
    if unfinished(store, parent, names) > 0:
        return None
    ends: list[dict[str, Any]] = []
    for name in names:
        record = store.jobs[parent.children[name][0]].record
        how = {"result": record["result"]} if record["status"] == "completed" else {"error": record["error_message"]}
        ends.append({"name": name, "job_id": record["id"], "status": record["status"], **how})
    return {"children": ends}


def unfinished(store: Store, parent: StoredJob, names: Sequence[str]) -> int:
    return len([name for name in names if not store.jobs[parent.children[name][0]].has_ended])


def family_ended(
    store: Store,
    job: StoredJob,
    wake: Callable[[StoredJob, str, dict[str, Any]], None],
    cancel: Callable[[StoredJob], None],
) -> None:
    """Tells the parent of a job that it has ended, and cancels the children of one that was cancelled."""
    parent = store.jobs.get(job.record.get("parent_job_id") or "")
    for wait in [] if parent is None else parent.open_waits:
        if parent is not None and wait.children is not None:
            ends = ends_of(store, parent, wait.children)
            if ends is not None:
                wake(parent, wait.checkpoint, ends)
            elif "waiting_for" in parent.record:
                shown = {"total": len(wait.children), "unfinished": unfinished(store, parent, wait.children)}
                store.change(parent, waiting_for={**parent.record["waiting_for"], "children": shown})
    if job.record["status"] == "cancelled":
        for child_id, is_detached in job.children.values():
            if not is_detached and not store.jobs[child_id].has_ended:
                cancel(store.jobs[child_id])
