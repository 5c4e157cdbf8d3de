"""Server-sent events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, NamedTuple

# An event larger than this ends the stream with an error: the service's own are bounded far below.
_MOST_BYTES = 64 * 1024 * 1024


class ServerEvent(NamedTuple):
    event: str
    data: str


def read_events(stream: IO[bytes]) -> Iterator[ServerEvent]:
    """The events of a stream, by the rules of the HTML standard, until it ends.

    Comments, ids and retry times are dropped; the service sends none that matter.
    """
    event, data, held = "message", list[str](), 0
    for line in _lines(stream):
        if line == "":
            if data:
                yield ServerEvent(event, "\n".join(data))
            event, data, held = "message", list[str](), 0
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            event = value
        elif name == "data":
            data.append(value)
            held += len(value)
            if held > _MOST_BYTES:
                raise ValueError("a server-sent event is too large")


def _lines(stream: IO[bytes]) -> Iterator[str]:
    """Lines end with CR LF, LF or CR. `readline` splits at LF; what is left is split at CR."""
    while raw := stream.readline(_MOST_BYTES):
        if len(raw) >= _MOST_BYTES:
            raise ValueError("a line of the event stream is too long")
        text = raw.decode("utf-8", "replace")
        if not text.endswith("\n"):
            return
        yield from text[:-1].removesuffix("\r").split("\r")
