"""Celery with a task that does nothing: acknowledged when it has ended, on a Redis that writes each change to disk."""

import os

from celery import Celery

app = Celery("bench", broker=os.environ["BENCH_BROKER"])
app.conf.task_acks_late = True
app.conf.task_reject_on_worker_lost = True
app.conf.task_ignore_result = True  # to its advantage: the others store a result
app.conf.worker_prefetch_multiplier = 100
app.conf.worker_hijack_root_logger = False


@app.task(name="noop")
def noop() -> None: ...
