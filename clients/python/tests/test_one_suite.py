"""One suite for the fake server and the real one: the fake must not lie."""

from __future__ import annotations

import asyncio
import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, cast

import pytest

from millrace import (
    AlreadyFinishedError,
    AlreadyReplayedError,
    Flow,
    InvalidRequestError,
    JobCancelled,
    JobCancelledError,
    JobContext,
    JobFailedError,
    Millrace,
    NonRetryableError,
    NotFoundError,
    Retries,
    RetryAfterError,
    WaitTimeoutError,
    WorkerEvent,
    WorkflowFailedError,
    task,
    workflow,
)
from millrace.shared.instants import moment
from millrace.testing import FakeServer

from .conftest import Stage, StartWorker
from .support.server import DEADLINE_SECS, until

ONCE = Retries(max=0)


@pytest.fixture(params=["fake", "real"])
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "fake":
        return {"url": "http://millrace.test", "exchange": FakeServer()}
    return {"url": request.getfixturevalue("server").url}


@dataclass
class Sum:
    total: int


@task
def add(a: int, b: int = 1) -> Sum:
    return Sum(a + b)


@task(retries=ONCE)
def refuse(why: str) -> None:
    raise NonRetryableError(why)


def test_a_job_runs_and_is_waited_for(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(add, refuse, queues={queue: 4})
    assert add.using(queue=queue).enqueue(2, b=3).result() == Sum(5)
    handles = client.enqueue_many([add.using(queue=queue).call(n) for n in range(5)])
    assert client.wait_all(handles) == [Sum(n + 1) for n in range(5)]
    failed = refuse.using(queue=queue).enqueue("no such user")
    with pytest.raises(JobFailedError, match="no such user"):
        failed.result()
    with pytest.raises(JobFailedError):
        client.wait_all([failed])


def test_lists_have_pages_and_filters(client: Millrace, queue: str) -> None:
    created = client.enqueue_many([add.using(queue=queue, priority=n % 2).call(n) for n in range(130)])
    ids = [job["id"] for job in client.jobs.list(queue=queue, oldest_first=True)]
    assert sorted(ids) == sorted(job.id for job in created)
    created[0].cancel()
    assert len(list(client.jobs.list(queue=queue, task=add, status=["pending", "running"], limit=101))) == 101
    assert [job["id"] for job in client.jobs.list(queue=queue, status="cancelled")] == [created[0].id]
    page = client.jobs.list(queue=queue, include_total=True, limit=5).page()
    assert (len(page["jobs"]), page["total"], page["has_more"]) == (5, 130, True)
    assert {each["queue"]: each["pending"] for each in client.queues.list()}[queue] == 129
    assert queue in {each["queue"] for each in client.queues.list(idle=True)}
    assert list(client.jobs.list(queue=queue, created_after=datetime(2999, 1, 1, tzinfo=timezone.utc))) == []


def test_jobs_are_found_by_error_and_metadata(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(refuse, queues={queue: 4})
    broken = refuse.using(queue=queue).enqueue("Disk full on 7")
    with pytest.raises(JobFailedError):
        broken.result()
    signup = add.using(queue=queue, delay=3600, metadata={"source": "signup", "attempt": 2}).enqueue(1)
    add.using(queue=queue, delay=3600, metadata={"source": "import"}).enqueue(2)
    assert [job["id"] for job in client.jobs.list(queue=queue, error="disk FULL")] == [broken.id]
    assert [job["id"] for job in client.jobs.list(queue=queue, metadata={"source": "signup"})] == [signup.id]
    assert [job["id"] for job in client.jobs.list(queue=queue, metadata={"attempt": "2"})] == [signup.id]
    assert list(client.jobs.list(queue=queue, metadata={"source": "sign"})) == []
    assert signup.id in [job["id"] for job in client.jobs.list(queue=queue, due=False)]
    assert list(client.jobs.list(queue=queue, due=True)) == []


def test_dead_letters_are_replayed_once(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(refuse, queues={queue: 4})
    job = refuse.using(queue=queue, metadata={"by": "me"}).enqueue("broken")
    with pytest.raises(JobFailedError):
        job.result()
    (letter,) = client.dead_letters.list(queue=queue, task=refuse, replayed=False)
    assert (letter["job_id"], letter["reason"], letter["error_message"]) == (job.id, "non_retryable", "broken")
    replayed = client.dead_letters.replay(letter["id"]).get()
    assert replayed["payload"] == {"why": "broken"}
    assert replayed["metadata"]["replayed_from_job"] == job.id
    with pytest.raises(AlreadyReplayedError):
        client.dead_letters.replay(letter["id"])
    assert client.dead_letters.get(letter["id"])["replay_job_id"] == replayed["id"]


def test_schedules(client: Millrace, queue: str) -> None:
    name = f"nightly-{queue}"
    made = client.schedules.put(name, "30 3 * * *", add.using(queue=queue).call(a=0))
    assert (made["name"], made["payload"], made["enabled"]) == (name, {"a": 0}, True)
    assert client.schedules.put(name, "@hourly", add.using(queue=queue).call(a=1))["id"] == made["id"]
    assert len(set(client.schedules.next(name, 3))) == 3
    upcoming = client.schedules.get(name)["next_run_at"]
    client.schedules.pause(name)
    paused = client.schedules.get(name)
    assert (paused["enabled"], paused["next_run_at"]) == (False, upcoming)
    client.schedules.resume(name)
    job = client.schedules.trigger(name)
    assert job.get()["payload"] == {"a": 1}
    assert [firing["job_id"] for firing in client.schedules.firings(name)] == [job.id]
    assert name in [each["name"] for each in client.schedules.list(next_first=True)]
    client.schedules.delete(name)
    with pytest.raises(NotFoundError):
        client.schedules.get(name)
    with pytest.raises(InvalidRequestError):
        client.schedules.put(name, "61 * * * *", add.call(a=0))


@pytest.mark.parametrize("on_failure", ["halt", "skip", "continue"])
def test_workflows(client: Millrace, start_worker: StartWorker, queue: str, on_failure: Any) -> None:
    @task(queue=queue)
    def reserve(sku: str) -> dict[str, Any]:
        return {"shelf": {"row": len(sku)}}

    @task(queue=queue)
    async def ship(row: int, whole: dict[str, Any], note: str = "none") -> dict[str, Any]:
        return {"row": row, "whole": whole, "note": note}

    @workflow(name=f"order-{queue}")
    def order(flow: Flow, sku: str) -> None:
        reserved = flow.step("reserve", reserve.call(sku))
        ad = flow.step("advert", refuse.using(queue=queue).call("no"), after=[reserved], on_failure=on_failure)
        note = ad["text"]
        flow.step("ship", ship.call(row=reserved["shelf"]["row"], whole=reserved.result, note=note))

    start_worker(reserve, refuse, ship, queues={queue: 4})
    run = order.using(key=queue).start(sku="a-1")
    assert order.using(key=queue).start(sku="a-1").id == run.id
    reserved = {"shelf": {"row": 3}}
    if on_failure == "halt":
        with pytest.raises(WorkflowFailedError, match="at advert"):
            run.results()
        ends = ["completed", "failed", "cancelled"]
    elif on_failure == "skip":
        assert run.results() == {"reserve": reserved}
        ends = ["completed", "failed", "skipped"]
    else:
        shipped = {"row": 3, "whole": reserved, "note": "none"}
        assert run.results() == {"reserve": reserved, "ship": shipped}
        ends = ["completed", "failed", "completed"]
    assert [step["status"] for step in run.steps()] == ends
    assert list(run.watch())[-1]["workflow"]["status"] == run.status()
    assert [each["id"] for each in client.workflows.list(name=f"order-{queue}")] == [run.id]


def test_what_is_wrong_is_refused(client: Millrace) -> None:
    for body in [
        {"task_name": "x", "payloda": {}},
        {"payload": {}},
        {"task_name": "x", "payload": []},
        {"task_name": 1},
    ]:
        with pytest.raises(InvalidRequestError):
            client._session.create("/jobs", body)  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(InvalidRequestError):
        client._session.create("/workflows", {"name": "w", "steps": []})  # pyright: ignore[reportPrivateUsage]


def test_the_same_key_creates_one_job(client: Millrace, queue: str) -> None:
    keyed = add.using(key=f"once-{queue}", queue=queue)
    assert keyed.enqueue(1).id == keyed.enqueue(1).id
    batch = [add.using(queue=queue).call(n) for n in range(3)]
    first = client.enqueue_many(batch, key=f"batch-{queue}")
    assert [job.id for job in first] == [job.id for job in client.enqueue_many(batch, key=f"batch-{queue}")]
    mixed = [add.using(key=f"item-{n}-{queue}" if n else None, queue=queue).call(n) for n in range(3)]
    once, again = client.enqueue_many(mixed), client.enqueue_many(mixed)
    assert [a.id == b.id for a, b in zip(once, again, strict=True)] == [False, True, True]
    with pytest.raises(InvalidRequestError, match="so has the batch"):
        client.enqueue_many(mixed, key="other")
    assert [job["id"] for job in client.jobs.list(key=f"once-{queue}")] == [keyed.enqueue(1).id]


def test_a_job_is_watched_until_it_ends(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    job = add.using(queue=queue).enqueue(1)
    states = job.watch()
    assert next(states)["status"] == "pending"
    start_worker(add, queues={queue: 1})
    assert [state["status"] for state in states][-1] == "completed"


def test_asyncio(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(add, queues={queue: 8})

    async def many() -> list[int]:
        jobs = [await add.using(queue=queue).aenqueue(n) for n in range(10)]
        sums = await asyncio.gather(*(job.aresult() for job in jobs))
        batch = await client.aenqueue_many([add.using(queue=queue).call(100)])
        seen = [state["status"] async for state in batch[0].awatch()]
        assert seen[-1] == "completed"
        assert (await client.await_all(batch)) == [Sum(101)]
        return [each.total for each in sums]

    assert asyncio.run(many()) == [n + 1 for n in range(10)]


def test_waiting_is_cancelled_with_its_task(client: Millrace, queue: str) -> None:
    async def give_up() -> str:
        job = await add.using(queue=queue).aenqueue(1)
        waiting = asyncio.create_task(job.aresult())
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(waiting, 0.2)
        await job.acancel()
        return (await job.aget())["status"]

    assert asyncio.run(give_up()) == "cancelled"
    assert client.whoami()["dev"] is True


def test_jobs_are_cancelled_waited_for_and_rerun(client: Millrace, queue: str) -> None:
    job = add.using(queue=queue).enqueue(1)
    with pytest.raises(WaitTimeoutError):
        job.result(timeout=0.1)
    job.cancel()
    with pytest.raises(JobCancelledError):
        job.result()
    with pytest.raises(AlreadyFinishedError):
        client.jobs.cancel(job.id)
    again = client.jobs.rerun(job.id, key=f"rerun-{queue}")
    assert again.id == client.jobs.rerun(job.id, key=f"rerun-{queue}").id != job.id
    assert client.jobs.handle(add, again.id).get()["payload"] == {"a": 1}
    with pytest.raises(NotFoundError):
        client.jobs.get("019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10")


def test_batches_are_refused_before_anything_is_sent(client: Millrace) -> None:
    assert client.enqueue_many([]) == []
    with pytest.raises(InvalidRequestError, match="at most 1000"):
        client.enqueue_many([add.call(1)] * 1001)
    wrong: Any = add
    with pytest.raises(TypeError, match="datetime is not JSON"):
        wrong.enqueue(datetime.now(timezone.utc))


def test_failures_are_retried_as_they_say(
    client: Millrace, start_worker: StartWorker, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[WorkerEvent] = []

    @task(queue=queue, context=True, retries=Retries(max=3, delay=0))
    def flaky(ctx: JobContext, how: str) -> dict[str, Any]:
        if ctx.job.attempt == 1:
            if how == "final":
                raise NonRetryableError("never")
            if how == "later":
                raise RetryAfterError("slow down", 3600)
            if how == "exit":
                raise SystemExit(1)
            raise ConnectionError("refused\nsecond line")
        return {"attempt": ctx.job.attempt}

    with caplog.at_level(logging.WARNING, "millrace.worker"):
        start_worker(flaky, queues={queue: 4}, on_event=events.append)
        assert flaky.enqueue("once").result() == {"attempt": 2}
        assert flaky.enqueue("exit").result() == {"attempt": 2}
        final = flaky.enqueue("final")
        with pytest.raises(JobFailedError, match="never"):
            final.result()
        later = flaky.enqueue("later")
        until(lambda: later.get()["status"] == "retrying", "the job waits for its next try")
    lines = {record.getMessage(): record.levelname for record in caplog.records}
    expected = f"flaky failed: attempt 1 of 4 of the job {final.id}, for good: never"
    assert lines[expected] == "ERROR"
    assert lines[f"flaky failed: attempt 1 of 4 of the job {later.id}, next try in 3600 s: slow down"] == "WARNING"
    assert any("next try in about 0 s: refused" in line and "second" not in line for line in lines)
    until(lambda: [event.type for event in events].count("failed") == 4, "the failures are told")


def test_what_does_not_fit_fails_for_good(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, name="strict")
    def strict(n: int) -> dict[str, int]:
        return cast(Any, [n])  # type: ignore[no-any-return]

    @task(queue=queue, name="strict")
    def other(m: int) -> None: ...

    start_worker(strict, queues={queue: 4})
    with pytest.raises(JobFailedError, match="returned list; a result is an object"):
        strict.enqueue(1).result()
    with pytest.raises(JobFailedError, match="strict has no argument m"):
        other.enqueue(1).result()


def test_a_job_of_an_unknown_task_goes_back_without_a_retry(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    @task(queue=queue)
    def known() -> None: ...

    @task(queue=queue, retries=ONCE)
    def unknown() -> None: ...

    start_worker(known, queues={queue: 4})
    job = unknown.enqueue()

    def is_back() -> bool:
        found = job.get()
        # It comes again when its pause is over, which may be before this look.
        return found["status"] == "pending" and found["delivery_count"] > 0

    until(is_back, "the job is back")
    record = job.get()
    assert record["retry_count"] == 0
    pause = moment(record["scheduled_at"]) - moment(record["created_at"])
    assert pause.total_seconds() >= 5


def test_progress_is_shown_and_remembered(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    go_on = threading.Event()

    @task(queue=queue, context=True, retries=Retries(max=1, delay=0))
    def resize(ctx: JobContext) -> dict[str, Any]:
        if ctx.last_progress is not None:
            return dict(ctx.last_progress)
        ctx.progress({"large": "x" * 20_000})
        ctx.progress(done=7)
        go_on.wait(DEADLINE_SECS)
        raise RuntimeError("again")

    start_worker(resize, queues={queue: 1})
    job = resize.enqueue()
    until(lambda: job.get()["progress"] == {"done": 7}, "the progress is shown")
    go_on.set()
    assert job.result() == {"done": 7}


def test_children_are_created_once(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue)
    def child(n: int) -> None: ...

    @task(queue=queue, context=True, retries=Retries(max=1, delay=0))
    def parent(ctx: JobContext) -> dict[str, Any]:
        made = [ctx.enqueue(child.call(n)).id for n in range(2)]
        if ctx.job.attempt == 1:
            raise RuntimeError("again")
        return {"made": made}

    @task(queue=queue, context=True)
    async def aparent(ctx: JobContext) -> dict[str, Any]:
        return {"made": [(await ctx.aenqueue(child.call(7))).id]}

    start_worker(parent, aparent, child, queues={queue: 4}, client=client)
    job = parent.enqueue()
    made = job.result()["made"]
    more = aparent.enqueue().result()["made"]
    created = {job["id"] for job in client.jobs.list(queue=queue, task=child)}
    assert created == {*made, *more}
    assert {client.jobs.get(each).get("parent_job_id") for each in made} == {job.id}


def test_sync_and_async_handlers_see_their_job(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True)
    def plain(ctx: JobContext, n: int) -> dict[str, Any]:
        assert ctx.leased()
        ctx.progress(done=n)
        ctx.check()
        return {
            "id": ctx.job.id,
            "attempt": ctx.job.attempt,
            "text": ctx.job.payload_text,
            "by": ctx.job.metadata["by"],
        }

    @task(queue=queue, context=True)
    async def later(ctx: JobContext, n: int) -> dict[str, Any]:
        await asyncio.sleep(0.01)
        return {"thread": threading.current_thread().name, "n": n}

    running = start_worker(plain, later, queues={queue: 4})
    first = plain.using(metadata={"by": "me"}).enqueue(1)
    assert first.result() == {"id": first.id, "attempt": 1, "text": '{"n":1}', "by": "me"}
    assert later.enqueue(2).result() == {"thread": "millrace-loop", "n": 2}
    assert running.stop().completed == 2
    assert running.worker.health.status == "stopped"


def test_a_cancelled_job_is_stopped_and_not_reported(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    begun: list[str] = []
    stopped: list[str] = []

    # What they say goes with heartbeats, whose answers say that the job was cancelled.
    @task(queue=queue, context=True)
    def plain(ctx: JobContext) -> None:
        begun.append("plain")
        try:
            while True:
                ctx.progress(n=len(stopped))
                ctx.wait(0.05)
        except JobCancelled as reason:
            stopped.append(f"plain: {reason}")
            assert not ctx.leased()
            raise

    @task(queue=queue, context=True)
    async def later(ctx: JobContext) -> None:
        begun.append("later")
        try:
            while True:
                ctx.progress(n=len(stopped))
                await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            stopped.append("later")
            raise

    events: list[str] = []
    running = start_worker(plain, later, queues={queue: 4}, on_event=lambda event: events.append(event.type))
    jobs = (plain.enqueue(), later.enqueue())
    # The service calls them running before the worker has heard of them.
    until(lambda: len(begun) == 2, "both handlers run")
    for job in jobs:
        job.cancel()
    until(lambda: len(stopped) == 2, "both handlers have stopped")
    assert sorted(stopped) == ["later", "plain: the job was cancelled"]
    summary = running.stop()
    assert (summary.completed, summary.failed, summary.released) == (0, 0, 0)
    assert events.count("cancelled") == 2
