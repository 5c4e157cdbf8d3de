"""Following event streams."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..errors.call_errors import MillraceError
from ..http.connections import Line
from ..http.event_stream import ServerEvent, read_events
from ..http.retry import is_repeated, retry_delay
from ..http.transport import Transport

# The service sends a comment every few seconds, so silence means a broken connection.
_SILENCE_SECS = 60.0


class Seen(NamedTuple):
    """What one event of a stream means: something to yield, and whether it is the last."""

    state: Any
    last: bool


def watch(transport: Transport, path: str, see: Callable[[ServerEvent], Seen | None], line: Line) -> Iterator[Any]:
    """Follows a stream of server-sent events until its last one, connecting again as often as needed.

    Streams end after 15 minutes, servers restart, connections break. Every stream begins with the current state, which
    is yielded only if it is news.
    """
    before: str | None = None
    failed = 0
    while True:
        try:
            response = transport.open(path, _SILENCE_SECS, line)
            try:
                for event in read_events(response):
                    seen = see(event)
                    if seen is None:
                        continue
                    failed = 0
                    text = json.dumps(seen.state, sort_keys=True)
                    if text != before:
                        yield seen.state
                    before = text
                    if seen.last:
                        return
            finally:
                response.close()
        except MillraceError as error:
            if error.status is not None and not is_repeated(error.status):
                raise
        except (OSError, http.client.HTTPException):
            pass  # the stream broke off
        if line.is_cut:
            return
        failed += 1
        time.sleep(retry_delay(failed, None))
