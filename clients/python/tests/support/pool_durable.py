"""Durable tasks that run in processes of their own."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from millrace import JobContext, Retries, task


@task
def upper(text: str) -> dict[str, str]:
    return {"text": text.upper()}


@task(context=True, process=True, retries=Retries(max=2, delay=0))
def in_process(ctx: JobContext) -> dict[str, Any]:
    first = ctx.step("first", os.getpid)
    if ctx.job.attempt == 1:
        raise RuntimeError("again")
    with ThreadPoolExecutor(4) as threads:
        squares = list(threads.map(lambda n: ctx.step(f"square {n}", lambda: n * n), range(4)))
    answer = ctx.wait_for("answer", timeout=3600)
    ctx.sleep("a moment", 0.01)
    shout = ctx.call("shout", upper.using(queue=ctx.job.queue).call(answer))
    return {"first": first, "squares": squares, "answer": shout["text"], "worker": os.getppid()}


@task(context=True, process=True)
def too_large(ctx: JobContext) -> None:
    ctx.step("large", lambda: "x" * 5_000_000)
