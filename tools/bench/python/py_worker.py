"""The Python worker with a task that does nothing; async if the second argument says so."""

import logging
import os
import sys

from millrace import Worker, task

logging.basicConfig(level="WARNING")
queue = os.environ["BENCH_QUEUE"]


@task(name="noop", queue=queue)
def plain() -> None: ...


@task(name="noop", queue=queue)
async def coroutine() -> None: ...


Worker(coroutine if sys.argv[1:] == ["async"] else plain, queues={queue: int(os.environ["BENCH_SLOTS"])}).run()
