"""The worker with the tasks of the conformance kit (docs/conformance.md)."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import sys
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

# The kit starts it with any Python: the package need not be installed.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from millrace import JobContext, NonRetryableError, Worker, json_text, task

QUEUE = os.environ["MILLRACE_QUEUE"]


def post(payload: dict[str, Any], event: str, step: str | None = None) -> None:
    """Tells the kit, if it wants to know, and waits for its answer."""
    if "beacon" in payload:
        body = json.dumps({"event": event} if step is None else {"event": event, "step": step}).encode()
        request = urllib.request.Request(payload["beacon"], body, {"content-type": "application/json"})
        urllib.request.urlopen(request, timeout=180).read()


class Beacon:
    """Tells the kit when a task starts, ends or is told to stop."""

    def __init__(self, ctx: JobContext, payload: dict[str, Any]) -> None:
        self._ctx = ctx
        self._payload = payload

    def __enter__(self) -> None:
        post(self._payload, "started")

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            post(self._payload, "finished")
        elif self._ctx.stopping():
            post(self._payload, "aborted")


@task(name="conf.echo", queue=QUEUE, context=True)
def echo(ctx: JobContext, /, **payload: Any) -> dict[str, Any]:
    with Beacon(ctx, payload):
        return json_text(ctx.job.payload_text)


@task(name="conf.sleep", queue=QUEUE, context=True)
async def sleep(ctx: JobContext, /, ms: float = 0, **payload: Any) -> None:
    await asyncio.to_thread(post, payload, "started")
    try:
        await asyncio.sleep(ms / 1000)
    except asyncio.CancelledError:
        await asyncio.to_thread(post, payload, "aborted")
        raise
    await asyncio.to_thread(post, payload, "finished")


@task(name="conf.block", queue=QUEUE, context=True)
def block(ctx: JobContext, /, ms: float = 0, **payload: Any) -> None:
    with Beacon(ctx, payload):
        # Unlike CDLL, PyDLL keeps the interpreter's lock: no other thread of this process runs meanwhile.
        ctypes.PyDLL(None).poll(None, 0, int(ms))


@task(name="conf.fail", queue=QUEUE, context=True)
def fail(ctx: JobContext, /, message: str = "failed", retryable: bool = True, **payload: Any) -> None:
    with Beacon(ctx, payload):
        raise RuntimeError(message) if retryable else NonRetryableError(message)


@task(name="conf.flaky", queue=QUEUE, context=True)
def flaky(ctx: JobContext, /, failures: int = 0, **payload: Any) -> None:
    with Beacon(ctx, payload):
        if ctx.job.attempt <= failures:
            raise RuntimeError(f"failure {ctx.job.attempt} of {failures}")


@task(name="conf.result", queue=QUEUE, context=True)
def result(ctx: JobContext, /, bytes: int = 0, invalid: bool = False, **payload: Any) -> dict[str, Any]:  # noqa: A002
    with Beacon(ctx, payload):
        wrong: Any = []
        return wrong if invalid else {"data": "x" * bytes}


@task(name="conf.progress", queue=QUEUE, context=True)
def progress(ctx: JobContext, /, steps: int = 3, ms: float = 100, **payload: Any) -> None:
    with Beacon(ctx, payload):
        for done in range(1, steps + 1):
            ctx.progress({"done": done, "of": steps})
            ctx.wait(ms / 1000)


@task(name="conf.context", queue=QUEUE, context=True)
def context(ctx: JobContext, /, **payload: Any) -> dict[str, Any]:
    with Beacon(ctx, payload):
        return {"seen": payload}


@task(name="conf.durable", queue=QUEUE, context=True)
def durable(ctx: JobContext, /, program: list[dict[str, Any]], **payload: Any) -> dict[str, Any]:
    """Each line of the program is a step, a sleep, a wait or a failure."""
    results: dict[str, Any] = {}

    def run(line: dict[str, Any]) -> Any:
        post(payload, "ran", line["step"])
        time.sleep(line.get("ms", 0) / 1000)
        return line.get("value")

    with Beacon(ctx, payload):
        for line in program:
            if line.get("fail_on") == ctx.job.attempt:
                raise RuntimeError(f"failure {ctx.job.attempt}")
            if "sleep" in line:
                ctx.sleep(line["sleep"], line["secs"])
            if "wait" in line:
                results[line["wait"]] = ctx.wait_for(line["wait"], timeout=line["secs"])
            if "step" in line:
                results[line["step"]] = ctx.step(line["step"], partial(run, line))
        return {"results": results}


@task(name="conf.exit", queue=QUEUE, context=True)
def leave(ctx: JobContext, /, code: int = 1, **payload: Any) -> None:
    with Beacon(ctx, payload):
        os._exit(code)


if __name__ == "__main__":
    Worker(
        *(echo, sleep, block, fail, flaky, result, progress, context, durable, leave),
        queues={QUEUE: int(os.environ["MILLRACE_CONCURRENCY"])},
        lease=float(os.environ["MILLRACE_LEASE_SECS"]),
        shutdown=float(os.environ["MILLRACE_SHUTDOWN_SECS"]),
    ).run()
    sys.exit(0)
