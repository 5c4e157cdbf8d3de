"""Where handlers under test keep what they have done. Everything goes through JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ...errors.handler_errors import LeaseLost, NonRetryableError
from ...exactjson.text import read, write
from ...tasks.conversion import to_json
from ...wire.types import ChildJob
from ...worker.durable.state import Stored
from .children import add_children
from .keeping import keep
from .new_job import add_job
from .problem import Problem
from .store import Store, StoredJob


class FakeCheckpoints:
    """A CheckpointStore: that of a job which `drain` runs."""

    def __init__(self, store: Store, job: StoredJob, token: str | None) -> None:
        self._store = store
        self._job = job
        self._token = token

    def load(self) -> Stored:
        with self._store.changed:
            values = {name: each["value"] for name, each in self._job.checkpoints.items()}
            waits = self._job.suspensions.values()
            return Stored(
                _through_json(values), {each.checkpoint: self._store.clock.text(each.until) for each in waits}
            )

    def store(self, name: str, text: str) -> Any:
        with self._store.changed:
            if self._job.token != self._token:
                raise LeaseLost("the job was given to another worker")
            try:
                return _through_json(keep(self._store, self._job, name, json.loads(text))[0])
            except Problem as problem:
                raise NonRetryableError(f'the step "{name}" cannot be kept: {problem}') from problem

    def create(self, children: Sequence[ChildJob]) -> None:
        self._create(children)

    def enqueue(self, child: ChildJob) -> str | None:
        return self._create([child])[0]

    def _create(self, children: Sequence[ChildJob]) -> list[str]:
        with self._store.changed:
            if self._job.token != self._token:
                raise LeaseLost("the job was given to another worker")
            try:
                jobs = _through_json(children)
                return add_children(self._store, self._job, jobs, lambda job: add_job(self._store, job, None).id)
            except Problem as problem:
                raise NonRetryableError(f'"{children[0]["name"]}" cannot be called: {problem}') from problem


class _Over(dict[str, str]):
    """Deadlines that are all over: a sleep ends, a wait without a signal times out."""

    def get(self, _name: str, _default: Any = None) -> str:
        return "1970-01-01T00:00:00Z"


class GivenCheckpoints:
    """A CheckpointStore without a server: what a test says was stored, and what its waits get."""

    def __init__(self, checkpoints: Mapping[str, Any], signals: Mapping[str, Any], calls: Mapping[str, Any]) -> None:
        values = {
            **checkpoints,
            **{name: {"value": value} for name, value in signals.items()},
            **{name: {"children": _ends(results)} for name, results in calls.items()},
        }
        self._stored = Stored(_through_json(values), _Over())

    def load(self) -> Stored:
        return self._stored

    def store(self, name: str, text: str) -> Any:  # noqa: ARG002 - nobody reads it again
        return json.loads(text)

    def create(self, children: Sequence[ChildJob]) -> None:
        """They have timed out already."""

    def enqueue(self, child: ChildJob) -> str | None:  # noqa: ARG002 - the test's client creates it, if there is one
        return None


def _ends(results: Any) -> list[dict[str, Any]]:
    """An error stands for a child that failed."""
    ends: list[dict[str, Any]] = []
    for each in results if isinstance(results, list) else [results]:
        failed = isinstance(each, Exception)
        how = {"status": "failed", "error": str(each)} if failed else {"status": "completed", "result": each}
        ends.append({"name": "", "job_id": "", **how})
    return ends


def _through_json(value: Any) -> Any:
    return read(write(value, to_json))
