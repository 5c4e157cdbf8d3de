"""What an attempt wrote and has not sent yet."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any

from ...wire.types import LogLevel, NewLogLine

# What the service keeps of a line and of an attempt, and takes with one call.
_MESSAGE_MAX = 8_192
_FIELDS_MAX = 4_096
_ATTEMPT_BYTES = 65_536
_LINE_BYTES = 32
_LINES_PER_CALL = 100

_HALF = _ATTEMPT_BYTES // 2
_HALF_LINES = _LINES_PER_CALL // 2


def new_line(level: LogLevel, message: str, fields: Mapping[str, Any] | None = None) -> NewLogLine:
    """A line as it is sent. What is too long is cut here: no need to send more than is kept."""
    at = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # One more than the service keeps, so that it says that it was cut.
    line: NewLogLine = {"at": at, "level": level, "message": _storable(message[: _MESSAGE_MAX + 1])}
    if fields:
        line["fields"] = _snapshot(fields)
    return line


class LogBuffer:
    """As much as one call may bring, however much is written.

    The first and the last lines stay, and a line says how many were left out between them. Lines are sent by one at a
    time: by the sender while the attempt runs, and with its report at the end.
    """

    __slots__ = ("_closed", "_head", "_head_size", "_left_out", "_lock", "_sending", "_tail", "_tail_size")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._sending = False
        self._clear()

    @property
    def size(self) -> int:
        return self._head_size + self._tail_size

    def write(self, line: NewLogLine) -> None:
        with self._lock:
            # What a handler writes after its attempt was reported belongs to nobody.
            if not self._closed:
                self._add(line)

    def begin(self) -> list[NewLogLine]:
        """Takes all lines, to be sent now; none if there are none, or if the report takes them."""
        with self._lock:
            if self._closed or self._sending or not self._head:
                return []
            self._sending = True
            return self._take()

    def end(self, unanswered: Iterable[NewLogLine] = ()) -> None:
        """What `begin` took has been sent. Lines of a call without an answer go before what was written since."""
        with self._lock:
            self._sending = False
            returned = list(unanswered)
            if returned:
                for line in [*returned, *self._take()]:
                    self._add(line)

    def close(self, at_once: bool = False) -> list[NewLogLine] | None:
        """Takes the rest, for the report. None while lines are on their way, unless it cannot wait for that."""
        with self._lock:
            if self._sending and not at_once:
                return None
            self._closed = True
            return self._take()

    def _clear(self) -> None:
        self._head: list[NewLogLine] = []
        self._tail: deque[NewLogLine] = deque()
        self._head_size = self._tail_size = self._left_out = 0

    def _take(self) -> list[NewLogLine]:
        missing = [new_line("warn", _left_out(self._left_out))] if self._left_out else []
        lines = [*self._head, *missing, *self._tail]
        self._clear()
        return lines

    def _add(self, line: NewLogLine) -> None:
        size = size_of(line)
        is_first = not self._tail and self._left_out == 0
        if is_first and len(self._head) < _HALF_LINES and self._head_size + size <= _HALF:
            self._head.append(line)
            self._head_size += size
            return
        self._tail.append(line)
        self._tail_size += size
        # One of the lines of a call may be needed to say what is missing.
        while len(self._tail) >= _HALF_LINES or self._tail_size > _HALF:
            self._tail_size -= size_of(self._tail.popleft())
            self._left_out += 1


def size_of(line: NewLogLine) -> int:
    fields = line.get("fields")
    return _LINE_BYTES + len(line["message"]) + (0 if fields is None else len(json.dumps(fields)))


def _left_out(count: int) -> str:
    return f"{count} {'line was' if count == 1 else 'lines were'} left out here"


def _snapshot(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they are now, as JSON: the handler may change them. What is not JSON is written as text."""
    try:
        text = json.dumps(dict(fields), default=str, allow_nan=False)
    except Exception as error:  # values have texts of their own, which may raise anything
        text = json.dumps({"cut": f"not JSON: {error}"[: _FIELDS_MAX // 2]})
    most = _FIELDS_MAX
    cut = text
    while len(cut) > _FIELDS_MAX:
        cut = json.dumps({"cut": text[: most - 16]})
        most //= 2
    snapshot: dict[str, Any] = json.loads(cut)
    return snapshot


def _storable(text: str) -> str:
    """Half a pair of surrogates cannot be sent."""
    return text.encode("utf-8", "replace").decode("utf-8")
