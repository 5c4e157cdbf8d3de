"""What a worker says to the server, and what it makes of the answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from millrace import JobContext, RetryAfterError, Worker, WorkerEvent, task
from millrace.http.connections import Line, RawAnswer
from millrace.testing import FakeServer

from .conftest import RunningWorker
from .support.server import DEADLINE_SECS, until

Answer = Callable[[], RawAnswer]
#: Gets the path and the body of a call, and what the server would answer.
Between = Callable[[str, Any, Answer], RawAnswer]


class Overheard(FakeServer):
    """A fake server whose calls are recorded, with something between it and the worker."""

    def __init__(self, between: Between = lambda _path, _body, answer: answer()) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []
        self._between = between

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float, line: Line | None
    ) -> RawAnswer:
        called, parsed = path.removeprefix("/api/v1"), None if body is None else json.loads(body)
        self.calls.append((called, parsed))
        answer = super().exchange
        return self._between(called, parsed, lambda: answer(method, path, headers, body, timeout, line))

    def bodies(self, path: str) -> list[Any]:
        return [body for each, body in self.calls if each == path]


def refusal(field: str) -> RawAnswer:
    body = {"error": f"{field} is not a known field", "code": "invalid_request"}
    return RawAnswer(400, "", {}, json.dumps(body).encode())


@contextmanager
def running(server: FakeServer, *tasks: Any, **options: Any) -> Generator[RunningWorker]:
    settings: dict[str, Any] = {"url": "http://millrace.test", "exchange": server, "poll": 1, "signals": False}
    # Longer than any test: a heartbeat of its own would be one too many.
    settings["lease"] = 3600
    started = RunningWorker(Worker(*tasks, **{**settings, **options}))
    try:
        yield started
    finally:
        started.worker.stop(timeout=0)
        started.join()


def test_a_worker_says_what_it_offers() -> None:
    server = Overheard()

    @task(name="resize")
    def resize() -> None: ...

    with running(server, resize, queues={"images": 7}):
        until(lambda: server.bodies("/queues/images/lease"), "the worker polls")
    offer = server.bodies("/queues/images/lease")[0]
    assert (offer["slots"], offer["tasks"]) == (7, ["resize"])


def test_an_older_server_is_told_no_offer() -> None:
    def older(path: str, body: Any, answer: Answer) -> RawAnswer:
        return refusal("slots") if path.endswith("/lease") and "slots" in body else answer()

    server = Overheard(older)

    @task
    def plain() -> None: ...

    with running(server, plain):
        until(lambda: len(server.bodies("/queues/tasks/lease")) > 1, "the worker polls again")
        job = server.client().enqueue(plain.call())
        assert job.result() == {}


def test_handlers_that_write_nothing_send_no_lines() -> None:
    server = Overheard()

    @task(context=True)
    def silent(ctx: JobContext) -> None:
        ctx.check()

    with running(server, silent):
        server.client().enqueue(silent.call()).result()
        until(lambda: server.bodies("/reports"), "the report was sent")
    assert all("logs" not in report for body in server.bodies("/reports") for report in body["reports"])
    assert server.bodies("/heartbeats") == []
    assert "millrace-logs" not in [thread.name for thread in threading.enumerate()]


def test_a_report_that_is_refused_with_its_lines_goes_without_them() -> None:
    refused: list[Any] = []

    def older(path: str, body: Any, answer: Answer) -> RawAnswer:
        if path == "/reports" and "logs" in body["reports"][0]:
            refused.append(body)
            return refusal("logs")
        return answer()

    server = Overheard(older)

    @task(context=True)
    def talk(ctx: JobContext) -> dict[str, int]:
        ctx.log.info("hello")
        return {"n": 1}

    with running(server, talk):
        assert server.client().enqueue(talk.call()).result() == {"n": 1}
    assert len(refused) == 1


def test_a_report_that_a_heartbeat_overtakes_is_no_lost_lease() -> None:
    overtaken = threading.Event()

    def slow(path: str, _: Any, answer: Answer) -> RawAnswer:
        """The answer to a report comes after a heartbeat that finds the lease over."""
        answered = answer()
        if path == "/reports":
            overtaken.wait(DEADLINE_SECS)
        elif path == "/heartbeats" and b"lease_lost" in answered.body:
            overtaken.set()
        return answered

    server, events = Overheard(slow), list[WorkerEvent]()

    @task
    def later() -> None:
        raise RetryAfterError("not now", 3600)

    with running(server, later, lease=2, on_event=events.append) as worker:
        job = server.client().enqueue(later.call())
        until(lambda: {"failed", "lease_lost"} & {event.type for event in events}, "the end of the job is told")
        until(lambda: worker.worker.health.held == 0, "the job is let go")
    assert overtaken.is_set()
    assert [event.type for event in events if event.job is not None] == ["started", "failed"]
    assert job.get()["status"] == "retrying"
