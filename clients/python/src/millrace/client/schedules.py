"""Schedules by name: `client.schedules`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors.call_errors import Failure, NotFoundError, refused
from ..tasks.call import Call
from ..tasks.handles import JobHandle
from ..tasks.policy import DEFAULT_QUEUE
from ..wire.types import Cron, CronFiring, CronOverlap, CronTriggered, PutCron, ScheduledWorkflow
from ..workflows.workflow import WorkflowCall, WorkflowHandle
from .enqueue import json_of
from .job_handle import RemoteJob
from .listing import Listing, list_query
from .session import Session, segment
from .workflows import RemoteWorkflow


class Schedules:
    def __init__(self, session: Session) -> None:
        self._session = session

    def put(
        self,
        name: str,
        cron: str,
        call: Call[Any] | WorkflowCall,
        *,
        timezone: str | None = None,
        overlap: CronOverlap | None = None,
    ) -> Cron:
        """Creates the schedule, or brings the one of that name in line; calling it at every start is fine.

        Whether it is paused stays as it is. `cron` is a crontab expression, six fields with the seconds first, or a
        nickname such as `@hourly`; `timezone` the IANA name of the zone that it is meant in, UTC unless said otherwise.
        With `overlap="skip"` nothing is enqueued while the job or workflow of the last firing has not ended.

        >>> client.schedules.put("nightly", "30 3 * * *", resize.call(image=0))  # doctest: +SKIP
        >>> client.schedules.put("weekly", "@weekly", report.call(pages=3), overlap="skip")  # doctest: +SKIP
        """
        body = _started_by(cron, call) if isinstance(call, WorkflowCall) else _enqueued_by(name, cron, call)
        if timezone is not None:
            body["timezone"] = timezone
        if overlap is not None:
            body["overlap"] = overlap
        stored = self._session.change("PUT", f"/cron/{segment(name)}", body)
        schedule: Cron = self._session.read(f"/cron/{segment(stored['cron_id'])}")
        return schedule

    def get(self, name: str) -> Cron:
        """The schedule of a name. Raises NotFoundError if there is none."""
        return self._find(name)

    def list(self, *, limit: int | None = None, next_first: bool = False) -> Listing[Cron]:
        """Schedules, the newest first, or what fires next first."""
        query = {**list_query(limit)}
        if next_first:
            query["order_by"] = "next_run_at ASC"
        return Listing("crons", limit, lambda cursor: self._session.read("/cron", {**query, "cursor": cursor}))

    def pause(self, name: str) -> None:
        """No firings until it is resumed."""
        self._session.change("POST", f"/cron/{self._find(name)['id']}/pause")

    def resume(self, name: str) -> None:
        """Fires from its next occurrence on; those missed meanwhile are not made up for."""
        self._session.change("POST", f"/cron/{self._find(name)['id']}/resume")

    def delete(self, name: str) -> None:
        self._session.change("DELETE", f"/cron/{self._find(name)['id']}", done_if=("not_found",))

    def next(self, name: str, count: int | None = None) -> Sequence[str]:
        """Its next occurrences; ten of them unless told otherwise."""
        instants: Sequence[str] = self._session.read(f"/cron/{self._find(name)['id']}/next", {"count": count})[
            "next_run_at"
        ]
        return instants

    def trigger(self, name: str, *, key: str | None = None) -> JobHandle[dict[str, Any]]:
        """Enqueues its job now, beside the timetable."""
        return RemoteJob(self._session, self._trigger(name, key).get("job_id", ""), lambda result: result)

    def trigger_workflow(self, name: str, *, key: str | None = None) -> WorkflowHandle:
        """Starts its workflow now, beside the timetable."""
        return RemoteWorkflow(self._session, self._trigger(name, key, starts_workflow=True).get("workflow_id", ""))

    def firings(self, name: str, *, limit: int | None = None) -> Listing[CronFiring]:
        """The last thousand firings, the newest first."""
        path = f"/cron/{self._find(name)['id']}/firings"
        query = list_query(limit)
        return Listing("firings", limit, lambda cursor: self._session.read(path, {**query, "cursor": cursor}))

    def preview(self, cron: str, *, timezone: str | None = None) -> Sequence[str]:
        """When a schedule with this expression would fire."""
        instants: Sequence[str] = self._session.read("/cron/preview", {"expr": cron, "timezone": timezone})["next"]
        return instants

    def _trigger(self, name: str, key: str | None, *, starts_workflow: bool = False) -> CronTriggered:
        found = self._find(name)
        # A server before 0.3 knows no schedules of workflows.
        if (found.get("workflow") is not None) is not starts_workflow:
            hint = "enqueues a job: use trigger()" if starts_workflow else "starts a workflow: use trigger_workflow()"
            raise refused(f"the schedule {name!r} {hint}")
        path = f"/cron/{found['id']}/trigger"
        triggered: CronTriggered = self._session.create(path, key=key, key_feature="idempotency")
        return triggered

    def _find(self, name: str) -> Cron:
        """The service knows schedules by id; programs know them by name."""
        for schedule in self.list():
            if schedule["name"] == name:
                return schedule
        raise NotFoundError(f"there is no schedule {name!r}", Failure("not_found", status=404))


def _enqueued_by(name: str, cron: str, call: Call[Any]) -> PutCron:
    options = call.merged
    if options.delay is not None or options.run_at is not None or options.key is not None:
        raise TypeError(f"the schedule {name} says when its jobs run: they have no delay, instant or key of their own")
    payload = json_of(call.payload)
    config: Any = options.config(payload)
    return {
        "cron_expr": cron,
        "task_name": call.task.name,
        "payload": payload,
        "queue": options.queue or DEFAULT_QUEUE,
        "config": config,
    }


def _started_by(cron: str, call: WorkflowCall) -> PutCron:
    workflow: ScheduledWorkflow = {"name": call.name, "steps": list(call.steps)}
    if call.metadata:
        workflow["metadata"] = dict(call.metadata)
    return {"cron_expr": cron, "workflow": workflow}
