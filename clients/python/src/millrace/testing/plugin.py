"""A pytest plugin: the fixture `fake_millrace` is a FakeServer, whose client tasks and workflows use meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .fake_server import FakeServer


@pytest.fixture
def fake_millrace() -> Iterator[FakeServer]:
    """The service in memory. What a test enqueues goes there; `fake_millrace.drain(task)` runs it."""
    from ..client.millrace import use_client
    from .fake_server import FakeServer

    fake = FakeServer()
    use_client(fake.client())
    yield fake
    use_client(None)
