"""Workflows whose steps decide and wait, that go on, that schedules start: with the fake server and the real one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from millrace import (
    AlreadyFinishedError,
    ConflictError,
    Flow,
    InvalidRequestError,
    JobContext,
    JobFailedError,
    Limit,
    Millrace,
    NonRetryableError,
    Rate,
    Retries,
    When,
    WorkflowCancelledError,
    WorkflowFailedError,
    task,
    workflow,
)
from millrace.testing import FakeServer

from .conftest import Stage, StartWorker
from .support.server import until

ONCE = Retries(max=0)


@pytest.fixture(params=["fake", "real"])
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "fake":
        return {"url": "http://millrace.test", "exchange": FakeServer()}
    return {"url": request.getfixturevalue("server").url}


@task
def charge(currency: str, cents: float = 1) -> dict[str, Any]:
    return {"currency": currency, "cents": cents, "paid": True, "note": None}


@task
def ship(note: str = "none") -> dict[str, Any]:
    return {"note": note}


def states(run: Any) -> dict[str, Any]:
    return {step["name"]: step["skipped_by"] or step["status"] for step in run.steps()}


def test_steps_decide_whether_they_run(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @workflow
    def order(flow: Flow) -> None:
        call = ship.using(queue=queue).call()
        paid = flow.step("charge", charge.using(queue=queue).call("EUR", cents=100.0))
        flow.step("among", call, when=When(paid["currency"], among=["CHF", "EUR"]))
        flow.step("number", call, when=When(paid["cents"], is_=100))
        flow.step("truth", call, when=When(paid["paid"], is_=1))
        flow.step("missing", call, when=When(paid["nothing"]["here"], is_=None))
        flow.step("context", call, when=When(["charge", "currency"], is_="EUR"), after=[paid])
        refused = flow.step("refused", call, when=When(paid["currency"], is_not="EUR"))
        flow.step("behind", call, after=[refused])
        passed = flow.step("passed", call, when=When(paid["note"], is_not=None, otherwise="continue"))
        flow.step("after", call, after=[passed])

    start_worker(charge, ship, queues={queue: 4})
    run = order.start()
    results = run.results()
    assert run.status() == "completed"
    left_out = {"truth", "refused", "behind", "passed"}
    assert {name for name, state in states(run).items() if state == "condition"} == left_out
    assert set(results) == {"charge", "among", "number", "missing", "context", "after"}


def test_a_workflow_may_end_before_anything_ran(client: Millrace, queue: str) -> None:
    @workflow
    def nothing(flow: Flow) -> None:
        flow.step("only", ship.using(queue=queue).call(), when=When(["region"], is_="EU"))

    assert nothing.start().results() == {}


def test_steps_wait_for_signals(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @workflow
    def order(flow: Flow) -> None:
        approved = flow.wait("approved", timeout=timedelta(days=3), ask="Ship it?")
        flow.step("ship", ship.using(queue=queue).call(note=approved["note"]), when=When(approved["yes"], is_=True))
        flow.wait("counted", timeout=3600, signal="count", key=queue)

    start_worker(ship, queues={queue: 1})
    run = order.start()
    until(lambda: states(run)["approved"] == "running", "the step waits")
    (wait,) = [each for each in client.signals.waits(ask=True) if each.get("workflow_id") == run.id]
    assert (wait["name"], wait["key"], wait.get("workflow_step_id")) == ("approved", run.id, "approved")
    assert wait["ask"] == {"text": "Ship it?"}
    assert run.signal("approved", {"yes": True, "note": "fragile"}) is True
    assert client.signals.send("count", queue, 7) is True
    assert run.results() == {
        "approved": {"yes": True, "note": "fragile"},
        "ship": {"note": "fragile"},
        "counted": {"value": 7},
    }
    with pytest.raises(AlreadyFinishedError):
        run.signal("approved")


def test_a_signal_may_come_before_its_step(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @workflow
    def order(flow: Flow) -> None:
        paid = flow.step("charge", charge.using(queue=queue).call("EUR"))
        flow.wait("approved", timeout=3600, after=[paid])

    run = order.start()

    async def sent() -> bool:
        return await run.asignal("approved", {"by": "mia"}, idempotency_key=f"once-{queue}")

    assert asyncio.run(sent()) is False
    assert asyncio.run(sent()) is False, "the same signal"
    start_worker(charge, queues={queue: 1})
    assert run.results()["approved"] == {"by": "mia"}


@pytest.mark.parametrize("on_timeout", ["fail", "continue"])
def test_a_step_waits_no_longer_than_it_says(client: Millrace, stage: Stage, queue: str, on_timeout: Any) -> None:
    @workflow
    def order(flow: Flow) -> None:
        flow.wait("approved", timeout=1, on_timeout=on_timeout)

    run = order.start()
    fake = stage.get("exchange")
    if isinstance(fake, FakeServer):
        assert run.status() in ("created", "running")
        fake.advance(1)
    if on_timeout == "continue":
        assert run.results() == {"approved": {"timed_out": True}}
    else:
        with pytest.raises(WorkflowFailedError, match="at approved"):
            run.results()
        assert run.steps()[0]["error_message"] == 'no signal "approved" came within 1 s'


def test_a_workflow_goes_on_after_it_failed(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True, retries=ONCE)
    def pay(ctx: JobContext) -> dict[str, Any]:
        context = client.workflows.get(ctx.job.workflow.id if ctx.job.workflow else "")["context"]
        if "card" not in context:
            raise NonRetryableError("no card")
        return {"card": context["card"]}

    @workflow
    def order(flow: Flow) -> None:
        reserved = flow.step("reserve", charge.using(queue=queue).call("EUR"))
        paid = flow.step("pay", pay.call(), after=[reserved])
        flow.step("ship", ship.using(queue=queue).call(), after=[paid])

    start_worker(pay, charge, ship, queues={queue: 2})
    run = order.start()
    with pytest.raises(ConflictError):
        run.resume()
    with pytest.raises(WorkflowFailedError, match="at pay"):
        run.results()
    before = {step["name"]: step["job_id"] for step in run.steps()}
    assert run.resume(dry_run=True) == ["pay", "ship"]
    with pytest.raises(InvalidRequestError, match="not a step"):
        run.resume(steps=["nothing"])

    async def resumed() -> Any:
        return await run.aresume(context={"card": "tok_2"}, key=f"resume-{queue}")

    assert asyncio.run(resumed()) == ["pay", "ship"]
    assert asyncio.run(resumed()) == ["pay", "ship"], "once per key"
    results = run.results()
    assert results["pay"] == {"card": "tok_2"}
    by_name = {step["name"]: step for step in run.steps()}
    assert (by_name["pay"]["run"], by_name["pay"]["earlier_job_ids"]) == (2, [before["pay"]])
    assert (by_name["reserve"]["run"], by_name["reserve"]["job_id"]) == (1, before["reserve"])
    (letter,) = client.dead_letters.list(job_id=before["pay"])
    assert letter["replay_job_id"] == by_name["pay"]["job_id"]
    with pytest.raises(ConflictError):
        client.workflows.resume(run.id)


def test_a_cancelled_workflow_goes_on_from_a_step(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @workflow
    def order(flow: Flow) -> None:
        paid = flow.step("charge", charge.using(queue=queue).call("EUR"))
        approved = flow.wait("approved", timeout=3600, after=[paid])
        flow.step("ship", ship.using(queue=queue).call(), after=[approved])

    start_worker(charge, ship, queues={queue: 2})
    run = order.start()
    until(lambda: states(run)["approved"] == "running", "the step waits")
    run.cancel()
    with pytest.raises(WorkflowCancelledError):
        run.results()
    with pytest.raises(InvalidRequestError, match="depends on"):
        run.resume(steps=["ship"])
    assert run.resume(steps=["charge"]) == ["charge", "approved", "ship"]
    until(lambda: states(run)["approved"] == "running", "the step waits again")
    assert run.signal("approved") is True
    assert set(run.results()) == {"charge", "approved", "ship"}


def test_schedules_start_workflows(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @workflow(name=f"report-{queue}")
    def report(flow: Flow, currency: str) -> None:
        flow.step("charge", charge.using(queue=queue).call(currency))

    name = f"weekly-{queue}"
    made = client.schedules.put(name, "@weekly", report.using(metadata={"by": "me"}).call("EUR"), overlap="skip")
    scheduled: Any = made["workflow"]
    assert (made["task_name"], made["overlap"], scheduled["name"]) == (None, "skip", f"report-{queue}")
    with pytest.raises(InvalidRequestError, match="trigger_workflow"):
        client.schedules.trigger(name)
    start_worker(charge, queues={queue: 1})
    run = client.schedules.trigger_workflow(name)
    assert run.results()["charge"]["currency"] == "EUR"
    assert run.get()["metadata"]["by"] == "me"
    (firing,) = client.schedules.firings(name)
    assert (firing["kind"], firing["job_id"], firing["workflow_id"]) == ("triggered", None, run.id)
    client.schedules.put(name, "@weekly", ship.using(queue=queue).call())
    with pytest.raises(InvalidRequestError, match="use trigger"):
        client.schedules.trigger_workflow(name)
    client.schedules.delete(name)
    with pytest.raises(TypeError, match="has no key"):
        report.using(key="once").call("EUR")


def test_what_overlaps_is_skipped() -> None:
    fake = FakeServer()
    client = fake.client()
    client.schedules.put("hourly", "@hourly", ship.call(), overlap="skip")
    fake.advance(3 * 3600)
    assert [each["kind"] for each in client.schedules.firings("hourly", limit=10)] == ["skipped", "skipped", "on_time"]
    fake.drain(ship)
    fake.advance(3600)
    assert len(fake.jobs) == 2


def test_limits_have_rates(client: Millrace, queue: str) -> None:
    both = [
        Limit("bank", running=2, rate=Rate(100, per=timedelta(minutes=1), burst=10)),
        Limit("user-{note}", rate=Rate(1, 5)),
    ]
    limited = ship.using(queue=queue, limits=both)
    config: Any = limited.enqueue(note="mia").get()["config"]
    assert [limit["key"] for limit in config["limits"]] == ["bank", "user-mia"]
    assert config["limits"][0]["rate"] == {"count": 100, "per_secs": 60, "burst": 10}
    with pytest.raises(InvalidRequestError, match="limits nothing"):
        ship.using(limits=[Limit("bank")]).enqueue()


def test_copies_keep_their_checkpoints(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    ran: list[str] = []

    @task(queue=queue, context=True, retries=ONCE)
    def refund(ctx: JobContext) -> dict[str, Any]:
        def note(name: str) -> dict[str, Any]:
            ran.append(name)
            return {"charge": len(ran)}

        found = ctx.step("find", lambda: note("find"))
        ctx.step("book", lambda: note("book"))
        if "rerun_of" not in ctx.job.metadata:
            raise NonRetryableError("the bank is closed")
        return found

    start_worker(refund, queues={queue: 1})
    job = refund.enqueue()
    with pytest.raises(JobFailedError):
        job.result()
    assert client.jobs.rerun(job.id, keep_checkpoints=True).result() == {"charge": 1}
    assert ran == ["find", "book"]
    assert client.jobs.rerun(job.id, keep_checkpoints=["find"]).result() == {"charge": 1}
    assert ran == ["find", "book", "book"]
    (letter,) = client.dead_letters.list(job_id=job.id)
    with pytest.raises(JobFailedError):
        client.dead_letters.replay(letter["id"], keep_checkpoints=True).result()
    assert ran == ["find", "book", "book"]


def test_what_makes_no_sense_is_refused() -> None:
    def flow_with(**options: Any) -> None:
        flow = Flow("odd")
        flow.step("charge", charge.call("EUR"))
        flow.step("ship", ship.call(), **options)

    other = Flow("other").wait("elsewhere", timeout=1)
    wrong: Any = When
    nonsense: list[Callable[[], object]] = [
        lambda: wrong(["a"]),
        lambda: wrong(["a"], is_=1, is_not=2),
        lambda: wrong(["a"], among="EUR"),
        lambda: wrong("a", is_=1),
        lambda: wrong([], is_=1),
        lambda: flow_with(when=When(other["a"], is_=1)),
        lambda: flow_with(after=[other]),
    ]
    for make in nonsense:
        with pytest.raises((TypeError, ValueError)):
            make()
    twice = Flow("twice")
    twice.wait("a", timeout=1)
    with pytest.raises(ValueError, match="already"):
        twice.wait("a", timeout=1)
