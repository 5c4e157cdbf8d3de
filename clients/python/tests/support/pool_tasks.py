"""Tasks for processes of their own: those find them by the name of their module."""

from __future__ import annotations

import os
import time
from typing import Any

from millrace import JobContext, Retries, task


@task(queue="elsewhere")
def child() -> None: ...


@task(context=True, process=True)
def compute(ctx: JobContext, n: int) -> dict[str, Any]:
    ctx.log.info("computing")
    made = ctx.enqueue(child.call())
    return {"n": n, "pid": os.getpid(), "leased": ctx.leased(), "child": made.id != ""}


@task(context=True, process=True, retries=Retries(max=1, delay=0))
def survive(ctx: JobContext, gate: str) -> dict[str, int]:
    """The first attempt lasts until there is a file of that name."""
    if ctx.job.attempt == 1:
        ctx.progress(pid=os.getpid())
        while not os.path.exists(gate):
            ctx.wait(0.05)
    return {"attempt": ctx.job.attempt}


@task(process=True)
def stubborn() -> None:
    """Ignores that it is told to stop; only its process can be ended."""
    while True:
        time.sleep(1)


@task(context=True, process=True)
def talk(ctx: JobContext, message: str) -> None:
    ctx.log.info(message)
