"""Tasks, jobs and workflows that Python and TypeScript share."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from millrace import Flow, JobContext, Millrace, task, workflow

from .conftest import StartWorker
from .support.server import DEADLINE_SECS, REPOSITORY, DevServer

# Beside the SDK's own tests, so that Node finds the package.
SCRIPT = REPOSITORY / "clients" / "python" / "tests" / "support" / "ts_worker.mjs"


def node(server: DevServer, queue: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "MILLRACE_URL": server.url, "TEST_QUEUE": queue}
    return subprocess.Popen(["node", str(SCRIPT), *arguments], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def ts_worker(server: DevServer, queue: str) -> Iterator[None]:
    process = node(server, queue)
    yield
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_SECS)


@pytest.fixture
def tasks(queue: str) -> tuple[Any, Any]:
    @task(name="measure", queue=f"{queue}-ts")
    def measure(text: str, of: list[int] | None = None) -> dict[str, Any]:
        raise NotImplementedError("runs in TypeScript")

    @task(name="shout", queue=f"{queue}-py", context=True)
    def shout(ctx: JobContext, text: str, big: int, ratio: float = 0) -> dict[str, Any]:
        return {"text": text.upper(), "big": big + 2**60, "ratio": ratio, "sent": ctx.job.payload_text}

    return measure, shout


@pytest.mark.usefixtures("ts_worker")
def test_both_languages_run_what_the_other_has_made(
    client: Millrace, server: DevServer, start_worker: StartWorker, queue: str, tasks: tuple[Any, Any]
) -> None:
    measure, shout = tasks
    start_worker(shout, queues={f"{queue}-py": 4})
    assert measure.enqueue("grüße", of=[1, 2]).result() == {"length": 5, "of": [1, 2]}
    producer = node(server, queue, "produce")
    said, _ = producer.communicate(timeout=DEADLINE_SECS)
    made = json.loads(said)
    assert made["job"]["text"] == "GRÜSSE 🦊"
    assert made["job"]["ratio"] == 1.1
    assert json.loads(made["job"]["sent"]) == {"text": "grüße 🦊", "big": 1, "ratio": 1.1}
    assert made["run"]["measure"] == {"length": 4, "of": []}
    assert made["run"]["shout"]["text"] == "X"


@pytest.mark.usefixtures("ts_worker")
def test_a_workflow_has_steps_in_both(
    client: Millrace, start_worker: StartWorker, queue: str, tasks: tuple[Any, Any]
) -> None:
    measure, shout = tasks

    @workflow(name=f"both-{queue}")
    def both(flow: Flow, text: str) -> None:
        loud = flow.step("loud", shout.call(text=text, big=0))
        size = flow.step("size", measure.call(text=loud["text"], of=[loud["big"]]))
        flow.step("again", shout.call(text="end", big=size["length"]))

    start_worker(shout, queues={f"{queue}-py": 4})
    results = both.start(text="abc").results()
    assert results["size"]["length"] == 3
    assert results["again"]["big"] == 3 + 2**60


@pytest.mark.usefixtures("ts_worker")
def test_a_python_job_creates_one_for_typescript(
    client: Millrace, start_worker: StartWorker, queue: str, tasks: tuple[Any, Any]
) -> None:
    measure, _ = tasks

    @task(queue=f"{queue}-py", context=True)
    async def parent(ctx: JobContext) -> dict[str, Any]:
        child: Any = await ctx.aenqueue(measure.call("four"))
        return {"child": await child.aresult()}

    start_worker(parent, queues={f"{queue}-py": 1}, client=client)
    assert parent.enqueue().result() == {"child": {"length": 4, "of": []}}


@pytest.mark.usefixtures("ts_worker")
def test_a_python_job_calls_one_of_typescript(
    client: Millrace, start_worker: StartWorker, queue: str, tasks: tuple[Any, Any]
) -> None:
    measure, _ = tasks

    @task(queue=f"{queue}-py", context=True)
    def parent(ctx: JobContext) -> dict[str, Any]:
        one = ctx.call("one", measure.call("grüße"))
        return {"one": one, "many": ctx.call_all("many", [measure.call("a" * n, of=[n]) for n in range(3)])}

    start_worker(parent, queues={f"{queue}-py": 1})
    assert parent.enqueue().result() == {
        "one": {"length": 5, "of": []},
        "many": [{"length": n, "of": [n]} for n in range(3)],
    }
