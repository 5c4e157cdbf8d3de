"""The worker against a real server."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest

from millrace import (
    AuthError,
    Flow,
    JobContext,
    JobFailedError,
    Millrace,
    NonRetryableError,
    Retries,
    Worker,
    task,
    workflow,
)

from .conftest import StartWorker
from .support import pool_tasks
from .support.server import DEADLINE_SECS, DevServer, until

ONCE = Retries(max=0)


def until_running(job: Any) -> None:
    until(lambda: job.get()["status"] == "running", "the job runs")


def test_a_handler_has_its_time_and_no_more(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True, timeout=1, retries=ONCE)
    def plain(ctx: JobContext) -> None:
        ctx.wait(600)

    @task(queue=queue, timeout=1, retries=ONCE)
    async def later() -> None:
        await asyncio.sleep(600)

    start_worker(plain, later, queues={queue: 4})
    for job in (plain.enqueue(), later.enqueue()):
        with pytest.raises(JobFailedError, match="timed out after 1 s"):
            job.result()


def test_a_handler_that_holds_the_interpreters_lock_for_longer_than_its_lease_keeps_its_job(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    @task(queue=queue, context=True)
    def hold(ctx: JobContext, ms: int) -> dict[str, Any]:
        # PyDLL, unlike CDLL, keeps the lock: not even the thread that listens to the keeper runs meanwhile.
        ctypes.PyDLL(None).poll(None, 0, ms)
        return {"attempt": ctx.job.attempt, "leased": ctx.leased()}

    # Half of the lease is there for a heartbeat that the machine holds up.
    start_worker(hold, queues={queue: 1}, lease=20)
    assert hold.enqueue(30_000).result() == {"attempt": 1, "leased": True}


def test_children_are_looked_at_and_found_by_keys_through_a_client(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    quiet = pool_tasks.compute.using(queue=f"{queue}-nobody")

    @task(queue=queue, context=True, retries=ONCE)
    def parent(ctx: JobContext, what: str) -> dict[str, Any]:
        if what == "key":
            ctx.enqueue(pool_tasks.compute.using(queue=f"{queue}-nobody", key=f"{queue}-key").call(1))
        child = ctx.enqueue(quiet.call(1))
        if what == "look":
            child.get()
        return {"child": child.id}

    @task(queue=queue, context=True, retries=ONCE)
    async def aparent(ctx: JobContext) -> None:
        await (await ctx.aenqueue(quiet.call(1))).aresult()

    start_worker(parent, aparent, queues={queue: 1})
    job = parent.enqueue("create")
    assert client.jobs.get(job.result()["child"]).get("parent_job_id") == job.id
    for failing in [parent.enqueue("key"), parent.enqueue("look"), aparent.enqueue()]:
        with pytest.raises(JobFailedError, match="needs a client"):
            failing.result()


def test_steps_use_the_results_of_others(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue)
    def reserve(sku: str) -> dict[str, Any]:
        return {"shelf": {"row": len(sku)}}

    @task(queue=queue, retries=ONCE)
    def advert() -> dict[str, str]:
        raise NonRetryableError("no advert today")

    @task(queue=queue)
    async def ship(row: int, whole: dict[str, Any], note: str = "none") -> dict[str, Any]:
        return {"row": row, "whole": whole, "note": note}

    @workflow(name=f"order-{queue}")
    def order(flow: Flow, sku: str) -> None:
        reserved = flow.step("reserve", reserve.call(sku))
        ad = flow.step("advert", advert.call(), on_failure="continue")
        flow.step("ship", ship.call(row=reserved["shelf"]["row"], whole=reserved.result, note=ad["text"]))

    start_worker(reserve, advert, ship, queues={queue: 4})
    run = order.using(key=queue).start(sku="a-1")
    assert run.results() == {
        "reserve": {"shelf": {"row": 3}},
        "ship": {"row": 3, "whole": {"shelf": {"row": 3}}, "note": "none"},
    }
    assert order.using(key=queue).start(sku="a-1").id == run.id
    assert list(run.watch())[-1]["workflow"]["status"] == run.status()
    assert [each["id"] for each in client.workflows.list(name=f"order-{queue}")] == [run.id]
    assert "reserve" in client.workflows.diagram(run.id)


def test_processes_run_what_computes_and_what_crashes(
    client: Millrace, start_worker: StartWorker, queue: str, tmp_path: Path
) -> None:
    start_worker(pool_tasks.compute, pool_tasks.survive, queues={queue: 3}, client=client)
    compute = pool_tasks.compute.using(queue=queue)
    done = compute.enqueue(7).result()
    assert (done["n"], done["leased"], done["child"]) == (7, True, True)
    assert done["pid"] != os.getpid()
    assert compute.enqueue(8).result()["pid"] == done["pid"], "an idle process is used again"

    # One of two processes is killed: its own job is tried again, the other's is not.
    killed = pool_tasks.survive.using(queue=queue).enqueue(str(tmp_path / "never"))
    other = pool_tasks.survive.using(queue=queue).enqueue(str(tmp_path / "gate"))
    until(
        lambda: (killed.get()["progress"] or {}).get("pid") and (other.get()["progress"] or {}).get("pid"), "both run"
    )
    os.kill((killed.get()["progress"] or {})["pid"], signal.SIGKILL)
    assert killed.result() == {"attempt": 2}
    (tmp_path / "gate").touch()
    assert other.result() == {"attempt": 1}
    errors = [attempt["error_message"] for attempt in client.jobs.attempts(killed.id)["attempts"]]
    assert errors[0] == "the process that ran the job ended by signal 9"


def test_a_process_that_ignores_that_it_was_told_to_stop_is_ended(
    client: Millrace, start_worker: StartWorker, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("millrace.worker.running.job_runner._IGNORED_SECS", 0.5)
    start_worker(pool_tasks.compute, pool_tasks.stubborn, queues={queue: 1}, lease=2, client=client)
    stubborn = pool_tasks.stubborn.using(queue=queue).enqueue()
    until_running(stubborn)
    stubborn.cancel()
    # There is one slot: it is free once the process has ended.
    assert pool_tasks.compute.using(queue=queue).enqueue(9).result()["n"] == 9


def test_without_the_keepers_process_a_thread_keeps_the_leases(
    client: Millrace, start_worker: StartWorker, queue: str, caplog: pytest.LogCaptureFixture
) -> None:
    replaced, seen = threading.Event(), threading.Event()

    @task(queue=queue, context=True)
    def hold(ctx: JobContext) -> dict[str, int]:
        replaced.wait(DEADLINE_SECS)
        # It goes with a heartbeat.
        ctx.progress(by="the thread")
        seen.wait(DEADLINE_SECS)
        return {"attempt": ctx.job.attempt}

    with caplog.at_level(logging.WARNING, "millrace.worker"):
        running: Any = start_worker(hold, queues={queue: 1})
        job = hold.enqueue()
        keeper = running.worker._runner.keeper
        until(lambda: len(keeper._held) == 1, "the lease is kept")
        keeper._process.kill()
        until(lambda: keeper._fallback is not None, "a thread keeps it")
        replaced.set()
        until(lambda: job.get()["progress"] == {"by": "the thread"}, "the thread has sent a heartbeat")
        seen.set()
        assert job.result() == {"attempt": 1}
    assert any("sends heartbeats ended" in record.getMessage() for record in caplog.records)


def test_a_refused_token_ends_the_worker() -> None:
    class Refusing:
        def exchange(self, *_: object) -> Any:
            from millrace.http.connections import RawAnswer

            return RawAnswer(401, "Unauthorized", {}, b'{"error":"unknown token","code":"unauthorized"}')

        def close(self) -> None: ...

    refusing: Any = Refusing()
    with pytest.raises(AuthError, match="unknown token"):
        Worker(queues={"q": 1}, exchange=refusing, signals=False).run()


def test_options_that_make_no_sense_are_refused() -> None:
    @task(name="twice")
    def one() -> None: ...

    @task(name="twice")
    def two() -> None: ...

    nonsense: list[Any] = [
        Worker,
        lambda: Worker(one, two),
        lambda: Worker(one, queues={"a": 0}),
        lambda: Worker(one, queues={"": 1}),
        lambda: Worker(one, lease=0),
        lambda: Worker(one, poll=31),
        lambda: Worker(one, url="localhost:8000").run(),
    ]
    for make in nonsense:
        with pytest.raises((TypeError, ValueError)):
            make()
    worker = Worker(one)
    worker.stop()
    assert worker.run().completed == 0


def test_the_keeper_does_not_outlive_a_worker_that_was_killed(server: DevServer, queue: str) -> None:
    program = f"from millrace import Worker; Worker(queues={{'{queue}': 1}}, url='{server.url}').run()"
    process = subprocess.Popen(["python3", "-c", program], env={**os.environ, "PYTHONPATH": _source()})
    children: list[str] = []

    def has_keeper() -> bool:
        found = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
        )
        children[:] = found.stdout.split()
        return len(children) == 1

    until(has_keeper, "the keeper has started")
    process.kill()
    process.wait()
    until(lambda: not os.path.exists(f"/proc/{children[0]}"), "the keeper has ended")


def _source() -> str:
    import millrace

    return os.path.dirname(os.path.dirname(millrace.__file__))


def test_a_lost_lease_is_forgotten(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    @task(queue=queue, context=True)
    def wait(ctx: JobContext) -> None:
        ctx.wait(600)

    running: Any = start_worker(wait, queues={queue: 1}, lease=2)
    job = wait.enqueue()
    # The service calls it running before the worker has heard of it.
    until(lambda: len(running.worker._runner.keeper._held) == 1, "the lease is kept")
    job.cancel()
    until(lambda: running.worker.health.held == 0, "the job is let go")
    until(lambda: running.worker._runner.keeper._held == {}, "the lease is forgotten")
