"""What a worker tells a program's own tracing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from ...http.transport import OnEnqueue
from ...tasks.context import RunningJob


@dataclass(frozen=True)
class JobHooks:
    """Called by a worker as it goes; `millrace.otel` is made of them."""

    #: Around every run of a handler. An error of the handler passes through it.
    around_job: Callable[[RunningJob], AbstractContextManager[object]] | None = None
    #: Before the end of a run is reported: the traceparent of the span that the run was.
    on_report: Callable[[RunningJob], str | None] | None = None
    #: What is added to the metadata of a job that a job creates, as in `Hooks`.
    on_enqueue: OnEnqueue | None = None
    #: Before and after every call to the server, as in `Hooks`.
    on_request: Callable[[str, str, dict[str, str]], None] | None = None
    on_response: Callable[[str, str, int | None, float], None] | None = None
