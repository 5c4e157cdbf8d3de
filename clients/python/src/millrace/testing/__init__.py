"""For tests: the service in memory, and contexts to call handlers with."""

from .context import RecordedContext, job_context
from .fake_server import FakeServer

__all__ = ["FakeServer", "RecordedContext", "job_context"]
