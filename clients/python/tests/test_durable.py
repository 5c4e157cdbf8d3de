"""Durable jobs: one suite for the fake server and the real one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

import pytest

from millrace import (
    AlreadyFinishedError,
    ChildFailedError,
    ConflictError,
    InvalidRequestError,
    JobContext,
    JobFailedError,
    JobHandle,
    Millrace,
    NonRetryableError,
    Retries,
    Suspended,
    WorkerEvent,
    task,
)
from millrace.http.connections import Connections, Line, RawAnswer
from millrace.http.transport import Exchange
from millrace.shared.instants import moment
from millrace.testing import FakeServer, job_context

from .conftest import Stage, StartWorker
from .support.pool_durable import in_process, too_large, upper
from .support.server import DEADLINE_SECS, until

AT_ONCE = Retries(max=5, delay=0, jitter=0)


@pytest.fixture(params=["fake", "real"])
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "fake":
        return {"url": "http://millrace.test", "exchange": FakeServer()}
    return {"url": request.getfixturevalue("server").url}


def until_waiting(job: JobHandle[Any], checkpoint: str) -> Any:
    until(lambda: job.get().get("waiting_for", {}).get("checkpoint") == checkpoint, f"the job waits for {checkpoint}")
    return job.get()


@dataclass
class Charge:
    id: str
    cents: int


def find_charge() -> Charge:
    return Charge("ch_1", 1200)


def test_steps_run_once_whatever_happens_between_them(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    ran: list[str] = []

    def log(line: str, value: Any = None) -> Any:
        ran.append(line)
        return value

    @task(queue=queue, context=True, retries=AT_ONCE)
    def refund(ctx: JobContext) -> dict[str, Any]:
        log("start")
        charge = ctx.step("find charge", find_charge)
        assert isinstance(charge, Charge)
        pair = ctx.step("pair", lambda: log("pair", [2**60, "ü"]))
        if ctx.job.attempt < 4:
            raise RuntimeError(f"crash {ctx.job.attempt}")
        nothing = ctx.step("log", lambda: log("log"))
        return {"cents": charge.cents, "pair": pair, "nothing": nothing, "key": ctx.key("refund")}

    start_worker(refund, queues={queue: 1})
    job = refund.enqueue()
    expected = {"cents": 1200, "pair": [2**60, "ü"], "nothing": None, "key": f"{job.id}:refund"}
    assert job.result() == expected
    assert ran == ["start", "pair", "start", "start", "start", "log"]
    stored = [(each["name"], each["value"], each["attempt"]) for each in client.jobs.checkpoints(job.id)]
    assert stored == [("find charge", {"id": "ch_1", "cents": 1200}, 1), ("pair", [2**60, "ü"], 1), ("log", None, 4)]


def test_a_sleep_holds_no_worker(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    events: list[WorkerEvent] = []

    @task(queue=queue, context=True, retries=Retries(max=0))
    def nap(ctx: JobContext) -> dict[str, Any]:
        before = ctx.step("before", lambda: ctx.job.attempt)
        ctx.sleep("an hour", timedelta(hours=1))
        ctx.sleep("until", datetime.now(timezone.utc) + timedelta(days=1))
        ctx.sleep("a moment", 0.01)
        ctx.sleep("the past", datetime.now(timezone.utc) - timedelta(days=1))
        return {"before": before, "attempt": ctx.job.attempt}

    running = start_worker(nap, queues={queue: 1}, on_event=events.append)
    job = nap.enqueue()
    record = until_waiting(job, "an hour")
    assert (record["status"], record["retry_count"], record["waiting_for"]["signal"]) == ("pending", 0, None)
    client.jobs.run_now(job.id)
    until_waiting(job, "until")
    client.jobs.run_now(job.id)
    assert job.result() == {"before": 1, "attempt": 3}
    summary = running.stop()
    assert [event.type for event in events].count("suspended") == 2
    assert (summary.completed, summary.failed, summary.released) == (1, 0, 0)


@dataclass
class Approval:
    approved: bool


def test_signals_come_before_or_after_the_wait(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True)
    def ask(ctx: JobContext) -> dict[str, Any]:
        choices: Any = [{"label": "Yes", "value": {"approved": True}}]
        answer = ctx.wait_for("approval", timeout=3600, schema=Approval, ask={"text": "Refund?", "choices": choices})
        paid = ctx.wait_for("payment", timeout=3600, signal="paid", key=queue, ask="Paid?")
        assert answer is not None
        return {"approved": answer.approved, "paid": paid}

    start_worker(ask, queues={queue: 1})
    job = ask.enqueue()
    waiting = until_waiting(job, "approval")["waiting_for"]
    assert (waiting["signal"], waiting["key"], waiting["ask"]["text"]) == ("approval", job.id, "Refund?")
    with pytest.raises(ConflictError):
        client.jobs.run_now(job.id)
    assert [each["job_id"] for each in client.signals.waits(name="approval", key=job.id, ask=True)] == [job.id]
    assert client.signals.send("paid", queue, {"cents": 1}, ttl=3600) is False
    assert client.signals.send_to_job(job, "approval", Approval(True)) is True
    assert job.result() == {"approved": True, "paid": {"cents": 1}}
    assert list(client.signals.waits(key=job.id)) == []
    with pytest.raises(AlreadyFinishedError):
        client.signals.send_to_job(job.id, "approval")
    with pytest.raises(InvalidRequestError):
        client.signals.send("", queue)
    odd = ask.enqueue()
    asyncio.run(client.signals.asend_to_job(odd, "approval", {"agreed": True}, idempotency_key=queue))
    with pytest.raises(JobFailedError, match='signal that "approval" waited for is not valid: Approval has no field'):
        odd.result()


def test_a_wait_ends_at_its_deadline(client: Millrace, start_worker: StartWorker, queue: str, stage: Stage) -> None:
    @task(queue=queue, context=True)
    async def ask(ctx: JobContext) -> dict[str, Any]:
        return {"answer": await ctx.await_for("approval", timeout=1), "attempt": ctx.job.attempt}

    start_worker(ask, queues={queue: 1})
    job = ask.enqueue()
    if "exchange" in stage:
        until_waiting(job, "approval")
        stage["exchange"].advance(1)
    assert job.result() == {"answer": None, "attempt": 2}
    assert client.jobs.checkpoints(job.id)[0]["value"] == {"timed_out": True}


def test_async_handlers(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    ran: list[str] = []

    @task(queue=queue, context=True, retries=AT_ONCE)
    async def all_of_it(ctx: JobContext) -> dict[str, Any]:
        async def slow(name: str) -> str:
            await asyncio.sleep(0.05)
            ran.append(name)
            return name

        first = await ctx.astep("first", lambda: slow("first"))
        # The sleep ends the attempt at once; the steps beside it end first, and are stored.
        steps = [ctx.astep(name, partial(slow, name)) for name in "ab"]
        names = await asyncio.gather(*steps, ctx.asleep("nap", 3600))
        answer = await ctx.await_for("answer", timeout=3600)
        await ctx.asleep("moment", 0.01)
        return {"first": first, "names": names, "answer": answer}

    start_worker(all_of_it, queues={queue: 1})
    job = all_of_it.enqueue()
    until_waiting(job, "nap")
    assert [each["name"] for each in client.jobs.checkpoints(job.id)] in (["first", "a", "b"], ["first", "b", "a"])
    client.jobs.run_now(job.id)
    until_waiting(job, "answer")
    assert asyncio.run(client.signals.asend("answer", job.id, 42)) is True
    assert job.result() == {"first": "first", "names": ["a", "b", None], "answer": 42}
    assert sorted(ran) == ["a", "b", "first"]


def test_steps_in_threads_end_before_a_wait(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    begun, waits = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert waits.wait(DEADLINE_SECS)
        return "slow"

    @task(queue=queue, context=True)
    def beside(ctx: JobContext) -> dict[str, Any]:
        threads = ThreadPoolExecutor(1)
        running = threads.submit(ctx.step, "slow", slow)
        assert begun.wait(DEADLINE_SECS)
        try:
            ctx.sleep("an hour", 3600)
        finally:
            waits.set()
        return {"slow": running.result(DEADLINE_SECS)}

    start_worker(beside, queues={queue: 1})
    job = beside.enqueue()
    until_waiting(job, "an hour")
    assert [each["name"] for each in client.jobs.checkpoints(job.id)] == ["slow"]
    client.jobs.run_now(job.id)
    assert job.result() == {"slow": "slow"}


def test_processes(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(in_process, too_large, upper, queues={queue: 2})
    job = in_process.using(queue=queue).enqueue()
    until_waiting(job, "answer")
    stored = {each["name"]: each["attempt"] for each in client.jobs.checkpoints(job.id)}
    assert stored == {"first": 1, **{f"square {n}": 2 for n in range(4)}}
    client.signals.send_to_job(job, "answer", "yes")
    result = job.result()
    assert (result["squares"], result["answer"]) == ([0, 1, 4, 9], "YES")
    with pytest.raises(JobFailedError, match='the step "large" cannot be kept'):
        too_large.using(queue=queue).enqueue().result()


def twice(ctx: JobContext) -> None:
    ctx.step("x", lambda: 1)
    ctx.step("x", lambda: 2)


def large(ctx: JobContext) -> None:
    ctx.step("big", lambda: "x" * 5_000_000)


def no_json(ctx: JobContext) -> None:
    ctx.step("odd", lambda: Charge("ch", 1))


def coroutine(ctx: JobContext) -> None:
    async def later() -> None: ...

    wrong: Any = ctx.step("later", later)
    assert wrong is None


def final(ctx: JobContext) -> None:
    def refuse() -> None:
        raise NonRetryableError("no such card")

    ctx.step("final", refuse, retries=3)


def two_waits(ctx: JobContext) -> None:
    try:
        ctx.sleep("one", 3600)
    except Suspended:
        pass
    ctx.wait_for("two", timeout=3600)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (twice, r'"x" is used twice in one attempt: first at .*test_durable\.py:\d+, then at .*test_durable\.py:\d+'),
        (large, 'the step "big" cannot be kept'),
        (no_json, 'the step "odd" cannot be kept: Object of type Charge is not JSON'),
        (coroutine, r'the step "later" is a coroutine: await ctx\.astep'),
        (final, "no such card"),
        (two_waits, 'waits for "one" already; a handler has one wait at a time, so end it before "two" begins, or'),
        (lambda ctx: ctx.step("x" * 201, lambda: 1), "the name of a step has 1 to 200 characters, not 201"),
    ],
)
def test_what_makes_no_sense_fails_for_good(
    client: Millrace, start_worker: StartWorker, queue: str, run: Callable[[JobContext], None], message: str
) -> None:
    @task(queue=queue, context=True, retries=Retries(max=5, delay=3600))
    def odd(ctx: JobContext) -> None:
        run(ctx)

    start_worker(odd, queues={queue: 1})
    with pytest.raises(JobFailedError, match=message):
        odd.enqueue().result()


def test_a_handler_that_swallows_a_wait_is_told(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True, retries=Retries(max=0))
    def swallow(ctx: JobContext, what: str) -> None:
        caught: Any = Exception if what == "errors" else BaseException
        try:
            ctx.sleep("an hour", 3600)
        except caught:
            pass

    start_worker(swallow, queues={queue: 2})
    with pytest.raises(JobFailedError, match='went on after it was to wait for "an hour": it caught Suspended'):
        swallow.enqueue("everything").result()
    until_waiting(swallow.enqueue("errors"), "an hour")


class Between(Exchange):
    """Passes calls on, and lets a test answer some of them itself."""

    def __init__(self, stage: Stage, change: Callable[[str, str, Callable[[], RawAnswer]], RawAnswer]) -> None:
        self._next: Any = stage.get("exchange") or Connections(stage["url"])
        self._change = change

    def exchange(self, method: str, path: str, headers: Any, body: Any, timeout: float, line: Line | None) -> RawAnswer:
        return self._change(method, path, lambda: self._next.exchange(method, path, headers, body, timeout, line))


def test_a_step_that_has_returned_never_runs_again(
    client: Millrace, start_worker: StartWorker, queue: str, stage: Stage
) -> None:
    tries: list[int] = []
    calls: list[str] = []

    def unwilling(method: str, path: str, call: Callable[[], RawAnswer]) -> RawAnswer:
        if path.endswith("/checkpoints"):
            calls.append(method)
            if len(calls) == 1:
                return RawAnswer(503, "", {}, b'{"error":"not now","code":"unavailable"}')
            if len(calls) == 2:
                call()  # it is stored, and the answer is lost
                raise ConnectionResetError("gone")
        return call()

    def shaky() -> int:
        tries.append(len(tries) + 1)
        if len(tries) < 3:
            raise RuntimeError(f"try {len(tries)}")
        return len(tries)

    @task(queue=queue, context=True, retries=Retries(max=0))
    def step(ctx: JobContext) -> dict[str, Any]:
        return {"tries": ctx.step("shaky", shaky, retries=5, retry_delay=0.01)}

    start_worker(step, queues={queue: 1}, exchange=Between(stage, unwilling))
    assert step.enqueue().result() == {"tries": 3}
    # A first delivery has nothing to load.
    assert (tries, calls) == ([1, 2, 3], ["POST"] * 3)


def test_a_job_whose_lease_is_gone_is_not_reported(
    client: Millrace, start_worker: StartWorker, queue: str, stage: Stage
) -> None:
    paths: list[str] = []
    events: list[str] = []

    def refusing(method: str, path: str, call: Callable[[], RawAnswer]) -> RawAnswer:
        paths.append(path)
        if path.endswith("/checkpoints"):
            return RawAnswer(409, "", {}, b'{"error":"gone","code":"lease_lost"}')
        return call()

    @task(queue=queue, context=True, retries=Retries(max=0))
    def lost(ctx: JobContext) -> None:
        ctx.step("one", lambda: 1)
        paths.append("/reports after the step")

    exchange = Between(stage, refusing)
    running = start_worker(lost, queues={queue: 1}, exchange=exchange, on_event=lambda event: events.append(event.type))
    job = lost.enqueue()
    until(lambda: "lease_lost" in events, "the job is lost")
    summary = running.stop()
    assert (summary.completed, summary.failed, summary.released) == (0, 0, 0)
    assert [path for path in paths if "report" in path] == []
    assert job.get()["status"] == "running"


def test_an_older_server_keeps_the_job(client: Millrace, start_worker: StartWorker, queue: str, stage: Stage) -> None:
    def older(method: str, path: str, call: Callable[[], RawAnswer]) -> RawAnswer:
        answer = call()
        if not path.endswith("/whoami"):
            return answer
        return RawAnswer(answer.status, answer.reason, answer.headers, answer.body.replace(b'"durable"', b'"other"'))

    @task(queue=queue, context=True, retries=Retries(max=1, delay=3600))
    def step(ctx: JobContext) -> None:
        ctx.step("n", lambda: 1)

    start_worker(step, queues={queue: 1}, exchange=Between(stage, older))
    job = step.enqueue()
    until(lambda: job.get()["status"] == "retrying", "the job waits for a newer server")
    assert job.get()["error_message"] == "this server knows no durable jobs; it is older than this package"


def test_what_a_worker_may_not_create_its_client_creates(
    client: Millrace, start_worker: StartWorker, queue: str, stage: Stage
) -> None:
    asked: list[str] = []

    def limited(method: str, path: str, call: Callable[[], RawAnswer]) -> RawAnswer:
        if path.endswith("/children"):
            asked.append(path)
            return RawAnswer(403, "", {}, b'{"error":"not on this queue","code":"forbidden"}')
        return call()

    quiet = double.using(queue=f"{queue}-nobody")

    @task(queue=queue, context=True, retries=Retries(max=1, delay=0))
    def parent(ctx: JobContext) -> dict[str, Any]:
        made = ctx.enqueue(quiet.call(1))
        if ctx.job.attempt == 1:
            raise RuntimeError("again")
        return {"made": made.id}

    start_worker(parent, queues={queue: 1}, client=client, exchange=Between(stage, limited))
    job = parent.enqueue()
    made = client.jobs.get(job.result()["made"])
    assert len(asked) == 2
    assert (made["idempotency_key"], made.get("parent_job_id")) == (f"{job.id}:1", None)


def test_an_older_server_creates_through_the_client(
    client: Millrace, start_worker: StartWorker, queue: str, stage: Stage
) -> None:
    def older(method: str, path: str, call: Callable[[], RawAnswer]) -> RawAnswer:
        assert not path.endswith("/children")
        answer = call()
        if not path.endswith("/whoami"):
            return answer
        return RawAnswer(answer.status, answer.reason, answer.headers, answer.body.replace(b'"durable"', b'"other"'))

    @task(queue=queue, context=True)
    def parent(ctx: JobContext) -> dict[str, Any]:
        return {"made": ctx.enqueue(double.using(queue=f"{queue}-nobody").call(1)).id}

    start_worker(parent, queues={queue: 1}, client=client, exchange=Between(stage, older))
    job = parent.enqueue()
    assert client.jobs.get(job.result()["made"])["idempotency_key"] == f"{job.id}:1"


def test_jobs_that_a_step_creates_are_counted_within_it(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    quiet = double.using(queue=f"{queue}-nobody")

    @task(queue=queue, context=True)
    def parent(ctx: JobContext) -> dict[str, Any]:
        tries: list[str] = []

        def create() -> list[str]:
            tries.append(ctx.enqueue(quiet.call(1)).id)
            if len(tries) == 1:
                raise RuntimeError("again")
            return [*tries, ctx.enqueue(quiet.call(2)).id]

        first, again, second = ctx.step("grüße 🦊", create, retries=1)
        assert first == again
        ctx.sleep("an hour", 3600)
        # The step is skipped by now.
        return {"made": [first, second, ctx.enqueue(quiet.call(3)).id]}

    @task(queue=queue, context=True)
    async def aparent(ctx: JobContext) -> dict[str, Any]:
        async def create(n: int) -> str:
            return (await ctx.aenqueue(quiet.call(n))).id

        made = await asyncio.gather(*(ctx.astep(f"{n}", partial(create, n)) for n in range(3)))
        return {"made": [*made, await create(3)]}

    start_worker(parent, aparent, queues={queue: 1}, client=client)
    job = parent.enqueue()
    until_waiting(job, "an hour")
    client.jobs.run_now(job.id)
    assert len({*job.result()["made"], *aparent.enqueue().result()["made"]}) == 7


@pytest.mark.skipif(not hasattr(asyncio, "TaskGroup"), reason="there are no task groups before Python 3.11")
def test_a_wait_in_a_task_group_suspends(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    group: Any = getattr(asyncio, "TaskGroup", None)

    @task(queue=queue, context=True)
    async def grouped(ctx: JobContext) -> dict[str, Any]:
        async with group() as tasks:
            answer = tasks.create_task(ctx.await_for("answer", timeout=3600))
        return {"answer": answer.result()}

    start_worker(grouped, queues={queue: 1})
    job = grouped.enqueue()
    until_waiting(job, "answer")
    client.signals.send_to_job(job, "answer", 42)
    assert job.result() == {"answer": 42}


@task
def double(n: int) -> dict[str, int]:
    if n < 0:
        raise NonRetryableError(f"{n} is negative")
    return {"doubled": 2 * n}


@task
def charge_of(cents: int) -> Charge:
    return Charge("ch_1", cents)


def test_a_job_calls_others_and_waits_for_them(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    twofold, charging = double.using(queue=queue), charge_of.using(queue=queue, metadata={"by": "parent"})

    @task(queue=queue, context=True)
    def parent(ctx: JobContext) -> dict[str, Any]:
        charge = ctx.call("charge", charging.call(7))
        assert isinstance(charge, Charge)
        many = ctx.call_all("many", [twofold.call(n) for n in range(3)])
        assert ctx.call_all("none", []) == []
        try:
            ctx.call_all("odd", [twofold.call(1), twofold.call(-1)])
        except ChildFailedError as error:
            (failed,) = error.children
            return {"cents": charge.cents, "many": many, "failed": [failed.name, failed.status, str(error)]}
        return {}

    start_worker(parent, double, charge_of, queues={queue: 1})
    job = parent.enqueue()
    assert job.result() == {
        "cents": 7,
        "many": [{"doubled": 0}, {"doubled": 2}, {"doubled": 4}],
        "failed": ["odd 2", "failed", '1 of 2 of "odd" did not complete; the first: -1 is negative'],
    }
    children = list(client.jobs.list(parent_job_id=job.id))
    assert len(children) == 6
    assert {child.get("parent_job_id") for child in children} == {job.id}
    assert [child["metadata"] for child in children if child["task_name"] == "charge_of"] == [{"by": "parent"}]


def test_async_handlers_call_others(client: Millrace, start_worker: StartWorker, queue: str, stage: Stage) -> None:
    twofold = double.using(queue=queue)

    @task(queue=queue, context=True)
    async def parent(ctx: JobContext) -> dict[str, Any]:
        one = await ctx.acall("one", twofold.call(1))
        many = await ctx.acall_all("many", [twofold.call(2), twofold.call(3)])
        try:
            await ctx.acall("never", double.using(queue=f"{queue}-nobody").call(1), timeout=1)
        except ChildFailedError as error:
            return {"one": one, "many": many, "timed out": error.timed_out}
        return {}

    start_worker(parent, double, queues={queue: 2})
    job = parent.enqueue()
    if "exchange" in stage:
        until_waiting(job, "never")
        stage["exchange"].advance(1)
    assert job.result() == {
        "one": {"doubled": 2},
        "many": [{"doubled": 4}, {"doubled": 6}],
        "timed out": True,
    }


def test_children_are_shown_and_cancelled_with_their_parent(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    @task(queue=queue, context=True)
    def parent(ctx: JobContext, key: str | None = None) -> None:
        ctx.call("mail", double.using(queue=f"{queue}-nobody", key=key).call(1))

    start_worker(parent, queues={queue: 2})
    job = parent.enqueue()
    waiting = until_waiting(job, "mail")["waiting_for"]
    assert (waiting["signal"], waiting["children"]) == (None, {"total": 1, "unfinished": 1})
    with pytest.raises(ConflictError):
        client.jobs.run_now(job.id)
    (child,) = client.jobs.list(parent_job_id=job.id)
    job.cancel()
    until(lambda: client.jobs.get(child["id"])["status"] == "cancelled", "the child is cancelled")
    with pytest.raises(JobFailedError, match='the call "mail" has a key; its name says what is the same'):
        parent.enqueue("k").result()


def test_a_failed_child_fails_its_parent_for_good(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True, retries=Retries(max=5, delay=3600))
    def parent(ctx: JobContext) -> None:
        ctx.call("mail", double.using(queue=queue).call(-1))

    start_worker(parent, double, queues={queue: 1})
    with pytest.raises(JobFailedError, match='"mail" failed: -1 is negative'):
        parent.enqueue().result()


def test_a_context_knows_what_calls_return() -> None:
    def run(ctx: JobContext) -> Any:
        return [ctx.call("charge", charge_of.call(7)), ctx.call_all("all", [double.call(1), double.call(2)])]

    all_of_it = [{"doubled": 1}, {"doubled": 2}]
    assert run(job_context(calls={"charge": Charge("c", 9), "all": all_of_it})) == [Charge("c", 9), all_of_it]
    with pytest.raises(ChildFailedError, match='"charge" failed: no'):
        run(job_context(calls={"charge": ValueError("no")}))
    with pytest.raises(ChildFailedError, match='"charge" did not end in time'):
        run(job_context())


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("2031-01-30T03:00:00Z", 0),
        ("2031-01-30T03:00:00.5Z", 500_000),
        ("2031-01-30T04:00:00.27782+01:00", 277_820),
        ("2031-01-30T03:00:00.1234567Z", 123_456),
    ],
)
def test_instants_have_any_number_of_digits(text: str, microseconds: int) -> None:
    assert moment(text) == datetime(2031, 1, 30, 3, 0, 0, microseconds, timezone.utc)
    with pytest.raises(ValueError, match="is not an instant"):
        moment(text[:-1])
