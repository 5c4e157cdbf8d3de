"""The checkpoints of a job that a worker holds."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ...errors.call_errors import MillraceError
from ...errors.handler_errors import LeaseLost, NonRetryableError
from ...http.transport import OnEnqueue, Request, Transport
from ...wire.types import Checkpoints as Page
from ...wire.types import ChildJob
from ..calls.calls import AssumedFeatures
from ..leases.held_jobs import HeldJob
from .state import Stored

_FIRST_PAUSE = 0.25
_MOST_PAUSE = 2.0


@dataclass(frozen=True)
class Checkpoints:
    """How a worker reaches those of its jobs."""

    transport: Transport
    features: AssumedFeatures
    #: What is added to the metadata of a job that a job creates.
    on_enqueue: OnEnqueue | None = None


class CheckpointCalls:
    """A CheckpointStore. Calls are repeated for as long as the lease is held."""

    def __init__(self, worker: Checkpoints, held: HeldJob, lose: Callable[[], None]) -> None:
        """`lose` is as if a heartbeat had said that the job is gone: nothing more is reported."""
        self._worker = worker
        self._held = held
        self._lose = lose
        self._path = f"/jobs/{quote(held.lease.job_id, safe='')}/checkpoints"

    def load(self) -> Stored:
        """A first delivery has nothing to load."""
        if not self._worker.features.is_known("durable"):
            # Not for good: the server will be upgraded, and the job can wait for that.
            raise RuntimeError("this server knows no durable jobs; it is older than this package")
        job = self._held.job
        if job.attempt <= 1 and "kept_checkpoints" not in job.metadata:
            return Stored()
        page: Page = self._call(Request("GET", self._path, lease_token=self._held.lease.token))
        return Stored(
            {each["name"]: each["value"] for each in page["checkpoints"]},
            {each["name"]: each["until"] for each in page["waits"]},
        )

    def store(self, name: str, text: str) -> Any:
        token = json.dumps(self._held.lease.token)
        body = f'{{"lease_token":{token},"name":{json.dumps(name)},"value":{text}}}'
        try:
            return self._call(Request("POST", self._path, body_text=body))["value"]
        except MillraceError as error:
            if error.code not in ("payload_too_large", "invalid_request"):
                raise
            raise NonRetryableError(f'the step "{name}" cannot be kept: {error}') from error

    def create(self, children: Sequence[ChildJob]) -> None:
        self._create(children)

    def enqueue(self, child: ChildJob) -> str | None:
        """A token that is limited to queues creates on those only."""
        if not self._worker.features.is_known("durable"):
            return None
        if self._worker.on_enqueue is not None:
            metadata = child.get("metadata") or {}
            child["metadata"] = {**metadata, **(self._worker.on_enqueue(child["task_name"], metadata) or {})}
        try:
            return self._create([child])[0]
        except MillraceError as error:
            if error.status != 403:
                raise
            return None

    def _create(self, children: Sequence[ChildJob]) -> list[str]:
        body = {"lease_token": self._held.lease.token, "jobs": children}
        try:
            path = f"/jobs/{quote(self._held.lease.job_id, safe='')}/children"
            ids: list[str] = self._call(Request("POST", path, body=body))["job_ids"]
            return ids
        except MillraceError as error:
            if error.code not in ("payload_too_large", "invalid_request"):
                raise
            first = f'"{children[0]["name"]}"'
            what = first if len(children) == 1 else f"{first} and {len(children) - 1} more"
            raise NonRetryableError(f"{what} cannot be called: {error}") from error

    def _call(self, request: Request) -> Any:
        stop = self._held.stop
        failures = 0
        while True:
            try:
                return self._worker.transport.call(request).body
            except MillraceError as error:
                if error.code in ("lease_lost", "not_found"):
                    self._lose()
                    raise LeaseLost("the job was given to another worker") from error
                # A step that has run is not to run again because a server, or a proxy before it, is busy.
                if error.status is not None and error.status < 500 and error.code != "unavailable":
                    raise
                pause = error.retry_after
            wait = min(_FIRST_PAUSE * 2.0 ** min(failures, 10), _MOST_PAUSE) if pause is None else pause
            if stop.wait(wait) and stop.reason is not None:
                raise stop.reason
            failures += 1
