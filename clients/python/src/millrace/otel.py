"""OpenTelemetry: spans of producers and workers are linked through `metadata.traceparent` (W3C Trace Context).

    from millrace import Millrace, Worker
    from millrace.otel import client_hooks, worker_hooks

    client = Millrace(hooks=client_hooks())
    Worker(send_welcome, hooks=worker_hooks()).run()

Needs `pip install millrace-client[otel]`, and a tracer that your program sets up.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from opentelemetry import propagate, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from .http.transport import Hooks
from .tasks.context import RunningJob
from .worker.durable.suspension import is_suspended
from .worker.running.tracing import JobHooks

# The fields of Trace Context; nothing else is taken from a job's metadata.
_FIELDS = ("traceparent", "tracestate")


def client_hooks() -> Hooks:
    """Every job that is created carries the trace of its creator."""
    return Hooks(on_request=_add_to_headers, on_enqueue=_on_enqueue)


def worker_hooks() -> JobHooks:
    """Every run of a handler is a span of its creator's trace, with what the handler does inside it."""
    tracer = trace.get_tracer("millrace")
    spans: WeakKeyDictionary[RunningJob, str] = WeakKeyDictionary()

    @contextmanager
    def around_job(job: RunningJob) -> Generator[None, None, None]:
        parent = propagate.extract({name: str(job.metadata[name]) for name in _FIELDS if name in job.metadata})
        attributes: dict[str, str | int] = {
            "messaging.system": "millrace",
            "messaging.operation.type": "process",
            "messaging.destination.name": job.queue,
            "messaging.message.id": job.id,
            "millrace.task": job.task,
            "millrace.attempt": job.attempt,
        }
        with tracer.start_as_current_span(
            f"run {job.task}", context=parent, kind=SpanKind.CONSUMER, attributes=attributes
        ) as span:
            spans[job] = _current().get("traceparent", "")
            try:
                yield
            except BaseException as error:
                # A run that ends in a wait has not failed.
                if not is_suspended(error):
                    span.set_status(Status(StatusCode.ERROR, str(error)))
                raise

    def on_report(job: RunningJob) -> str | None:
        return spans.pop(job, None) or None

    return JobHooks(around_job=around_job, on_report=on_report, on_enqueue=_on_enqueue)


def _on_enqueue(task: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes = {"messaging.system": "millrace", "messaging.operation.type": "send", "millrace.task": task}
    tracer = trace.get_tracer("millrace")
    with tracer.start_as_current_span(f"enqueue {task}", kind=SpanKind.PRODUCER, attributes=attributes):
        return _current()


def _current() -> dict[str, str]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return {name: value for name, value in carrier.items() if name in _FIELDS}


def _add_to_headers(_method: str, _path: str, headers: dict[str, str]) -> None:
    headers.update(_current())
