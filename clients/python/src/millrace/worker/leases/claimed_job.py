"""A job as its handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...exactjson.slices import elements, member
from ...tasks.context import StepOf


class ClaimedJob:
    """A RunningJob."""

    __slots__ = (
        "__weakref__",
        "_answer",
        "_index",
        "attempt",
        "config",
        "id",
        "max_retries",
        "metadata",
        "queue",
        "retry_count",
        "started_at",
        "task",
        "tenant",
        "workflow",
    )

    def __init__(self, record: Mapping[str, Any], answer: str, index: int) -> None:
        """`answer` is the text of the whole answer that brought it, `index` its place among the jobs there."""
        self.id: str = record["id"]
        self.task: str = record["task_name"]
        self.queue: str = record["queue_name"]
        self.tenant: str = record["tenant_id"]
        self.attempt: int = record["delivery_count"]
        #: When the attempt began, by the server's clock.
        self.started_at: str = record["started_at"]
        self.retry_count: int = record["retry_count"]
        self.config: Mapping[str, Any] = record["config"]
        self.max_retries: int = self.config["max_retries"]
        self.metadata: Mapping[str, Any] = record["metadata"]
        step = record["workflow_id"]
        self.workflow = None if step is None else StepOf(step, record["workflow_step_id"] or "")
        self._answer = answer
        self._index = index

    @property
    def payload_text(self) -> str:
        """Few handlers ask for it, and finding it means reading the answer again."""
        leased = list(elements(member(self._answer, "jobs") or "[]"))
        payload = member(member(leased[self._index], "job") or "{}", "payload")
        if payload is None:
            raise ValueError("the server's answer holds no such payload")
        return payload
