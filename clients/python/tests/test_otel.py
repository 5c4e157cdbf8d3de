"""Traces go from who creates a job to who runs it."""

from __future__ import annotations

import pytest

from millrace import Hooks, JobContext, Millrace, task
from millrace.testing import FakeServer

from .conftest import StartWorker
from .support.server import until

sdk = pytest.importorskip("opentelemetry.sdk.trace")


def test_a_run_is_a_span_of_its_creators_trace(start_worker: StartWorker, queue: str) -> None:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from millrace.otel import client_hooks, worker_hooks

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)

    @task(queue=queue, context=True)
    def traced(ctx: JobContext) -> dict[str, str]:
        with trace.get_tracer("test").start_as_current_span("inside"):
            return {"traceparent": ctx.job.metadata["traceparent"]}

    @task(queue=queue, context=True)
    def suspended(ctx: JobContext) -> None:
        ctx.sleep("an hour", 3600)

    fake = FakeServer()
    hooks: Hooks = client_hooks()
    client = Millrace("http://millrace.test", exchange=fake, hooks=hooks)
    start_worker(traced, suspended, queues={queue: 1}, exchange=fake, hooks=worker_hooks())
    with trace.get_tracer("test").start_as_current_span("request") as request:
        job = traced.using(client=client).enqueue()
        sleeping = suspended.using(client=client).enqueue()
    assert job.result()["traceparent"].split("-")[1] == f"{request.get_span_context().trace_id:032x}"
    until(lambda: "waiting_for" in sleeping.get(), "the other job sleeps")
    provider.force_flush()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert {"request", "enqueue traced", "run traced", "inside"} <= set(spans)
    assert len({span.context.trace_id for span in spans.values() if span.context}) == 1
    assert spans["run suspended"].status.status_code is not trace.StatusCode.ERROR, "a wait is no failure"
    inside, run = spans["inside"], spans["run traced"]
    assert inside.parent is not None
    assert run.context is not None
    assert inside.parent.span_id == run.context.span_id
