"""Jobs and workflows that did not complete, as raised by `result()` and `results()`."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.types import ErrorDetails, Job, Workflow, WorkflowStep


class JobFailedError(Exception):
    """The job failed for good."""

    def __init__(self, job: Job) -> None:
        reason = job["error_message"] or "no reason given"
        super().__init__(f"the job {job['id']} ({job['task_name']}) failed: {reason}")
        self.job = job
        #: Name and stack of the error, if the worker told them.
        self.details: ErrorDetails | None = job.get("error_details")


class JobCancelledError(Exception):
    """The job was cancelled."""

    def __init__(self, job: Job) -> None:
        super().__init__(f"the job {job['id']} ({job['task_name']}) was cancelled")
        self.job = job


class WorkflowFailedError(Exception):
    """The workflow failed: a step with the policy `halt` failed."""

    def __init__(self, workflow: Workflow, steps: Sequence[WorkflowStep]) -> None:
        failed = [step["name"] for step in steps if step["status"] == "failed"]
        at = f" at {', '.join(failed)}" if failed else ""
        super().__init__(f"the workflow {workflow['id']} ({workflow['name']}) failed{at}")
        self.workflow = workflow
        self.steps = steps


class WorkflowCancelledError(Exception):
    """The workflow was cancelled."""

    def __init__(self, workflow: Workflow) -> None:
        super().__init__(f"the workflow {workflow['id']} ({workflow['name']}) was cancelled")
        self.workflow = workflow
