"""Workflows and schedules of the fake server."""

from __future__ import annotations

from ...wire.types import CreateWorkflow, PutCron, ResumeWorkflow
from .crons import fire, next_runs, put_cron, set_enabled
from .exchange import FakeRequest, Reply, Route, once, page, same
from .problem import Problem, not_found
from .resume import plan, resume
from .settle import cancel
from .shapes import checked
from .store import StoredCron, StoredWorkflow
from .workflows import create_workflow, step_records, stop_workflow


def _create(request: FakeRequest) -> Reply:
    body = checked(request.body, CreateWorkflow)
    return once(request, "workflow", lambda _: {"workflow_id": create_workflow(request.store, body).record["id"]})


def workflow_at(request: FakeRequest) -> StoredWorkflow:
    workflow = request.store.workflows.get(request.params[0])
    if workflow is None:
        raise not_found("workflow")
    return workflow


def _list(request: FakeRequest) -> Reply:
    records = [workflow.record for workflow in request.store.workflows.values()]
    return page(request, "workflows", records, {"status": same("status"), "name": same("name")})


def _cancel(request: FakeRequest) -> Reply:
    workflow, store = workflow_at(request), request.store
    if workflow.has_ended:
        raise Problem(409, "already_finished", f"the workflow is {workflow.record['status']} already")
    stop_workflow(store, workflow, "cancelled", lambda job: cancel(store, job))
    return 204, None


def _resume(request: FakeRequest) -> Reply:
    workflow, store = workflow_at(request), request.store
    given = checked(request.body or {}, ResumeWorkflow)
    named, workflow_id = given.get("steps"), workflow.record["id"]
    if given.get("dry_run"):
        return 200, {"workflow_id": workflow_id, "steps": plan(store, workflow, named)}
    patch = given.get("context") or {}
    kind = f"resume {workflow_id}"
    steps = lambda _: {"workflow_id": workflow_id, "steps": resume(store, workflow, named, patch)}  # noqa: E731
    return 200, once(request, kind, steps)[1]


def _cron(request: FakeRequest) -> StoredCron:
    cron = request.store.crons.get(request.params[0])
    if cron is None:
        raise not_found("schedule")
    return cron


def _put(request: FakeRequest) -> Reply:
    cron, is_new = put_cron(request.store, request.params[0], checked(request.body, PutCron))
    return 201 if is_new else 200, {"cron_id": cron.record["id"]}


def _crons(request: FakeRequest) -> Reply:
    records = [cron.record for cron in request.store.crons.values()]
    if request.query.get("order_by") == "next_run_at ASC":
        # Pages are turned round, so the last comes first; those that are paused or have ended come at the end.
        records.sort(key=lambda cron: (not cron["enabled"], cron["next_run_at"] or ""), reverse=True)
    return page(request, "crons", records)


def _delete(request: FakeRequest) -> Reply:
    del request.store.crons[_cron(request).record["id"]]
    return 204, None


def _enable(enabled: bool) -> Route:
    def route(request: FakeRequest) -> Reply:
        set_enabled(request.store, _cron(request), enabled)
        return 204, None

    return route


def _next(request: FakeRequest) -> Reply:
    count = int(request.query.get("count", "10"))
    return 200, {"next_run_at": next_runs(request.store, _cron(request).record["cron_expr"], count)}


def _trigger(request: FakeRequest) -> Reply:
    cron = _cron(request)
    return once(request, "trigger", lambda _: fire(request.store, cron, None))


def _firings(request: FakeRequest) -> Reply:
    listed = [{**firing, "created_at": firing["fired_at"]} for firing in _cron(request).firings]
    return page(request, "firings", listed)


WORKFLOW_ROUTES: list[tuple[str, str, Route]] = [
    ("POST", "/workflows", _create),
    ("GET", "/workflows", _list),
    ("GET", "/workflows/:id", lambda request: (200, workflow_at(request).record)),
    (
        "GET",
        "/workflows/:id/steps",
        lambda request: (200, {"steps": step_records(request.store, workflow_at(request))}),
    ),
    ("POST", "/workflows/:id/cancel", _cancel),
    ("POST", "/workflows/:id/resume", _resume),
    ("GET", "/cron", _crons),
    ("GET", "/cron/preview", lambda request: (200, {"next": next_runs(request.store, request.query["expr"], 5)})),
    ("PUT", "/cron/:name", _put),
    ("GET", "/cron/:id", lambda request: (200, _cron(request).record)),
    ("DELETE", "/cron/:id", _delete),
    ("POST", "/cron/:id/pause", _enable(False)),
    ("POST", "/cron/:id/resume", _enable(True)),
    ("GET", "/cron/:id/next", _next),
    ("POST", "/cron/:id/trigger", _trigger),
    ("GET", "/cron/:id/firings", _firings),
]
