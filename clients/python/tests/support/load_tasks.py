"""Tasks of a program that is stopped by signals while it is at work."""

from __future__ import annotations

import os
import signal
import threading
import time

from millrace import JobContext, task

QUEUE = os.environ.get("TEST_QUEUE", "load")


def note(line: str) -> None:
    """Appends a line: whole, whoever else does the same."""
    with open(os.environ["TEST_FILE"], "ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


@task(queue=QUEUE, context=True)
def brief(ctx: JobContext, stops: bool = False) -> None:
    """One of many, of which one tells its process to stop: whoever looked from outside could come too late."""
    if stops:
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.02)
    note(ctx.job.id)


@task(queue=QUEUE, context=True)
def endless(ctx: JobContext) -> None:
    note("started")
    try:
        ctx.wait(600)
    except BaseException as reason:
        note(type(reason).__name__)
        raise


@task(queue=QUEUE, context=True)
def signals_itself(ctx: JobContext) -> None:
    """As if the system had chosen this thread for a signal to the process."""
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    ctx.wait(600)
