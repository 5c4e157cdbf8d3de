from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from millrace import Millrace, Worker, WorkerSummary, use_client

from .support.server import DEADLINE_SECS, DevServer, until


@pytest.fixture(scope="session")
def server() -> Iterator[DevServer]:
    """One server for all tests; each has queues of its own."""
    running = DevServer()
    yield running
    running.stop()


Stage = dict[str, Any]


@pytest.fixture
def stage(server: DevServer) -> Stage:
    """Where clients and workers of a test find their server; some tests choose a fake one."""
    return {"url": server.url}


@pytest.fixture
def client(stage: Stage) -> Iterator[Millrace]:
    """A client, which is also that of tasks and workflows that name none."""
    made = Millrace(**stage)
    use_client(made)
    yield made
    use_client(None)
    made.close()


@pytest.fixture
def queue() -> str:
    return f"q-{uuid.uuid4()}"


class RunningWorker:
    """A worker in a thread."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.summary: WorkerSummary | None = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.summary = self.worker.run()
        except BaseException as error:
            self.error = error

    def stop(self) -> WorkerSummary:
        self.worker.stop()
        self._thread.join(DEADLINE_SECS)
        assert self.summary is not None
        return self.summary

    def join(self) -> None:
        self._thread.join(DEADLINE_SECS)


StartWorker = Callable[..., RunningWorker]


@pytest.fixture
def start_worker(stage: Stage) -> Iterator[StartWorker]:
    """Starts workers, and stops them at the end of the test."""
    started: list[RunningWorker] = []

    def start(*tasks: Any, **options: Any) -> RunningWorker:
        # The lease is longer than any test, on a machine that is held up too.
        settings: dict[str, Any] = {**stage, "poll": 2, "lease": 3600, "signals": False, **options}
        running = RunningWorker(Worker(*tasks, **settings))
        started.append(running)
        until(lambda: running.worker.health.last_poll_at is not None or running.error, "the worker polls")
        return running

    yield start
    for running in started:
        running.worker.stop(timeout=0)
        running.join()
