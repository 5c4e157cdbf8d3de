"""What handlers write is kept with the attempt: with the fake server and the real one."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from millrace import JobContext, JobFailedError, Millrace, Retries, task
from millrace.testing import FakeServer, job_context
from millrace.wire.types import LogLine, NewLogLine
from millrace.worker.leases.log_buffer import LogBuffer, new_line, size_of

from .conftest import Stage, StartWorker
from .support.pool_tasks import talk
from .support.server import DEADLINE_SECS, until


@pytest.fixture(params=["fake", "real"])
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "fake":
        return {"url": "http://millrace.test", "exchange": FakeServer()}
    return {"url": request.getfixturevalue("server").url}


def said(lines: list[LogLine] | list[NewLogLine]) -> list[tuple[str, str]]:
    return [(line["level"], line["message"]) for line in lines]


def test_lines_come_with_the_report(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True, retries=Retries(max=1, delay=0))
    def charge(ctx: JobContext) -> None:
        ctx.log.info("attempt %d", ctx.job.attempt, extra={"cents": 1200})
        ctx.log.debug("not kept: the logger is not enabled for it")
        if ctx.job.attempt == 1:
            try:
                raise ConnectionError("refused")
            except ConnectionError:
                ctx.log.exception("the bank")
                raise
        ctx.log.warning("done")

    start_worker(charge, queues={queue: 1})
    job = charge.enqueue()
    job.result()
    page = client.jobs.logs(job.id)
    assert said(page["lines"]) == [
        ("info", "attempt 1"),
        ("error", "the bank"),
        ("info", "attempt 2"),
        ("warn", "done"),
    ]
    assert [(line["attempt"], line["seq"]) for line in page["lines"]] == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert page["lines"][0].get("fields") == {"cents": 1200}
    assert "ConnectionError: refused" in page["lines"][1].get("fields", {})["stack"]
    assert (page["omitted"], page.get("next")) == (0, None)
    assert said(client.jobs.logs(job.id, attempt=2)["lines"]) == [("info", "attempt 2"), ("warn", "done")]
    assert list(client.jobs.follow_logs(job.id)) == page["lines"]


def test_lines_are_seen_while_the_handler_runs(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    go_on = threading.Event()

    @task(queue=queue, context=True)
    def slow(ctx: JobContext) -> None:
        ctx.log.info("begun")
        go_on.wait(DEADLINE_SECS)
        ctx.log.info("ended")

    start_worker(slow, queues={queue: 1})
    job = slow.enqueue()
    lines = client.jobs.follow_logs(job.id)
    assert next(lines)["message"] == "begun"
    go_on.set()
    assert [line["message"] for line in lines] == ["ended"]

    async def follow() -> list[str]:
        return [line["message"] async for line in client.jobs.afollow_logs(job.id)]

    assert asyncio.run(follow()) == ["begun", "ended"]


def test_lines_of_processes_and_coroutines(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True)
    async def later(ctx: JobContext) -> None:
        ctx.log.error("from the loop")

    start_worker(later, talk, queues={queue: 2})
    here, there = later.enqueue(), talk.using(queue=queue).enqueue("from a process")
    for job, level, message in ((here, "error", "from the loop"), (there, "info", "from a process")):
        job.result()
        assert said(client.jobs.logs(job.id)["lines"]) == [(level, message)]


def test_lines_stay_here_if_that_is_wanted(
    client: Millrace, start_worker: StartWorker, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    @task(queue=queue, context=True)
    def plain(ctx: JobContext) -> None:
        ctx.log.warning("only here")

    start_worker(plain, talk, queues={queue: 2}, logs="local")
    with caplog.at_level(logging.WARNING, "millrace.worker"):
        for job in (plain.enqueue(), talk.using(queue=queue).enqueue("here, too")):
            job.result()
            assert client.jobs.logs(job.id)["lines"] == []
    (record,) = [each for each in caplog.records if "only here" in each.getMessage()]
    assert record.filename == "test_logs.py"
    with pytest.raises(ValueError, match='"server" or "local"'):
        start_worker(plain, logs="nowhere")


def test_many_lines_are_bounded(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True)
    def chatty(ctx: JobContext) -> None:
        for number in range(1000):
            ctx.log.info("line %d", number)

    start_worker(chatty, queues={queue: 1})
    job = chatty.enqueue()
    job.result()
    messages = [line["message"] for line in client.jobs.logs(job.id)["lines"]]
    assert len(messages) <= 1000
    assert (messages[0], messages[-1]) == ("line 0", "line 999")
    left_out = [message for message in messages if "left out here" in message]
    assert len(messages) - len(left_out) + sum(int(each.split()[0]) for each in left_out) == 1000


def test_an_error_has_details(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, retries=Retries(max=0))
    def broken() -> None:
        raise LookupError("no such user")

    start_worker(broken, queues={queue: 1})
    with pytest.raises(JobFailedError) as failed:
        broken.enqueue().result()
    details: Any = failed.value.details
    assert details["name"] == "LookupError"
    assert "no such user" in details["stack"]


def test_a_buffer_keeps_the_first_and_the_last_lines() -> None:
    buffer = LogBuffer()
    for number in range(250):
        buffer.write(new_line("info", f"line {number}"))
    lines = buffer.begin()
    assert len(lines) <= 100
    assert [lines[0]["message"], lines[49]["message"], lines[50]["message"], lines[-1]["message"]] == [
        *("line 0", "line 49", "151 lines were left out here", "line 249"),
    ]
    assert buffer.begin() == []
    buffer.write(new_line("info", "meanwhile"))
    assert buffer.close() is None, "lines are on their way"
    buffer.end([new_line("warn", "unanswered")])
    assert [line["message"] for line in buffer.close() or []] == ["unanswered", "meanwhile"]
    buffer.write(new_line("info", "after the report"))
    assert buffer.close() == []
    large = LogBuffer()
    for _ in range(100):
        large.write(new_line("info", "x" * 8_000))
    assert sum(map(size_of, large.begin())) <= 65_536 + 100


def test_lines_are_cut_and_never_fail() -> None:
    ctx = job_context()
    odd: Any = {"a": object, "b": float("nan"), ("c",): 1}
    too_few: tuple[int, ...] = (1,)
    ctx.log.info("%d of %d", *too_few)
    ctx.log.info("x" * 10_000)
    ctx.log.info("odd", extra=odd)
    ctx.log.info("half \ud800", extra={"large": "y" * 10_000})
    assert [line["level"] for line in ctx.lines] == ["info"] * 4
    assert len(ctx.lines[1]["message"]) == 8_193
    assert set(ctx.lines[2].get("fields") or {}) == {"cut"}
    assert ctx.lines[3]["message"] == "half ?"
    assert size_of(ctx.lines[3]) < 4_200


def test_drain_keeps_lines_too() -> None:
    fake = FakeServer()
    client = fake.client()

    @task(context=True)
    def plain(ctx: JobContext) -> None:
        ctx.log.info("hello")

    job = client.enqueue(plain.call())
    fake.drain(plain)
    assert said(client.jobs.logs(job.id)["lines"]) == [("info", "hello")]
    until(lambda: job.get()["status"] == "completed", "the job has ended")
