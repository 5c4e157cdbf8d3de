"""What only the fake server has: its clock, `drain`, and contexts to call handlers with."""

from __future__ import annotations

import asyncio
from datetime import datetime, timezone
from typing import Any

import pytest

from millrace import Flow, InvalidRequestError, JobCancelled, JobContext, JobFailedError, Retries, task, workflow
from millrace.testing import FakeServer, job_context
from millrace.testing.fake.cron_expression import Timetable

pytest_plugins = ["millrace.testing.plugin"]


@task(context=True, retries=Retries(max=2, delay=60, backoff="exponential"))
def flaky(ctx: JobContext, failures: int) -> dict[str, Any]:
    ctx.progress(attempt=ctx.job.attempt)
    if ctx.job.attempt <= failures:
        raise RuntimeError(f"failure {ctx.job.attempt}")
    return {"attempt": ctx.job.attempt}


@task(context=True)
async def parent(ctx: JobContext, n: int) -> dict[str, Any]:
    child = await ctx.aenqueue(flaky.call(n))
    return {"child": child.id}


def test_retries_wait_for_the_clock(fake_millrace: FakeServer) -> None:
    job = flaky.enqueue(2)
    fake_millrace.drain(flaky)
    assert job.get()["status"] == "retrying"
    fake_millrace.advance(59)
    fake_millrace.drain(flaky)
    assert job.get()["delivery_count"] == 1
    fake_millrace.advance(1)
    fake_millrace.drain(flaky)
    fake_millrace.advance(120)
    fake_millrace.drain(flaky)
    assert job.result() == {"attempt": 3}
    final = flaky.enqueue(9)
    for _ in range(3):
        fake_millrace.drain(flaky)
        fake_millrace.advance(3600)
    with pytest.raises(JobFailedError, match="failure 3"):
        final.result()


def test_delays_and_schedules_follow_the_clock() -> None:
    fake = FakeServer(now=datetime(2031, 1, 30, 3, 0, tzinfo=timezone.utc))
    client = fake.client()
    later = flaky.using(delay=600, client=client).enqueue(0)
    client.schedules.put("nightly", "30 3 * * *", flaky.call(failures=0))
    fake.drain(flaky)
    assert later.get()["status"] == "pending"
    fake.advance(3 * 86_400)
    fake.drain(flaky)
    assert later.result() == {"attempt": 1}
    due = [job["metadata"].get("cron_due_at") for job in fake.jobs if job["metadata"]]
    assert due == [f"2031-0{day}T03:30:00.000000Z" for day in ("1-30", "1-31", "2-01")]
    assert fake.now == datetime(2031, 2, 2, 3, 0, tzinfo=timezone.utc)


def test_async_handlers_and_children(fake_millrace: FakeServer) -> None:
    async def all_of_it() -> Any:
        job = await parent.aenqueue(0)
        await fake_millrace.adrain(parent, flaky)
        return await job.aresult()

    child = asyncio.run(all_of_it())["child"]
    assert fake_millrace.client().jobs.get(child)["result"] == {"attempt": 1}
    fake_millrace.drain(parent)
    assert [job["status"] for job in fake_millrace.jobs] == ["completed"] * 2


def test_steps_become_ready_while_draining(fake_millrace: FakeServer) -> None:
    @workflow
    def twice(flow: Flow) -> None:
        first = flow.step("first", flaky.call(0))
        flow.step("second", flaky.call(failures=first["missing"]), on_failure="continue")

    run = twice.start()
    fake_millrace.drain(flaky)
    assert run.results() == {"first": {"attempt": 1}}
    assert run.status() == "partially_failed"


def test_what_it_does_not_know_it_refuses(fake_millrace: FakeServer) -> None:
    client = fake_millrace.client()
    for call in (
        lambda: client.jobs.why("x"),
        lambda: list(client.dead_letters.groups()),
        lambda: client.schedules.put("x", "0 0 * * *", flaky.call(0), timezone="Europe/Berlin"),
        lambda: client.schedules.put("x", "0 0 0 * * * 2031", flaky.call(0)),
    ):
        with pytest.raises(InvalidRequestError, match="real server"):
            call()


def test_expired_leases_come_back(fake_millrace: FakeServer) -> None:
    client = fake_millrace.client()
    job = flaky.enqueue(0)
    leased = client._session.create("/queues/tasks/lease", {"lease_secs": 10})["jobs"][0]  # pyright: ignore[reportPrivateUsage]
    fake_millrace.advance(10)
    assert (job.get()["status"], job.get()["error_message"]) == ("retrying", "lease expired")
    late = {"reports": [{"job_id": job.id, "lease_token": leased["lease_token"], "outcome": "completed"}]}
    answer = client._session.create("/reports", late)  # pyright: ignore[reportPrivateUsage]
    assert answer["reports"][0]["code"] == "lease_lost"


def test_a_handler_alone_has_a_context() -> None:
    ctx = job_context(attempt=2)
    assert flaky(ctx, failures=1) == {"attempt": 2}
    assert ctx.said == [{"attempt": 2}]
    ctx.stop()
    assert not ctx.leased()
    with pytest.raises(JobCancelled):
        ctx.check()


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("*/15 * * * *", "2031-01-01T00:15:00"),
        ("30 3 * * mon-fri", "2031-01-01T03:30:00"),
        ("0 0 31 * *", "2031-01-31T00:00:00"),
        ("0 0 13 * fri", "2031-01-03T00:00:00"),
        ("5 0 0 1 feb *", "2031-02-01T00:00:05"),
        ("@yearly", "2032-01-01T00:00:00"),
        ("0 0 * * 7", "2031-01-05T00:00:00"),
    ],
)
def test_timetables(expression: str, expected: str) -> None:
    start = datetime(2031, 1, 1, tzinfo=timezone.utc)
    assert Timetable(expression).next(start) == datetime.fromisoformat(expected).replace(tzinfo=timezone.utc)
