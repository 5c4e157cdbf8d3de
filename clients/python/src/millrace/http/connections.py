"""Connections to one server, kept open and shared by threads."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

_KEPT = 32
# Servers close idle connections after a while; one that is nearly that old is not worth the risk.
_KEPT_SECS = 55.0
_PIECE = 1 << 16


@dataclass(frozen=True)
class RawAnswer:
    """An answer, read to its end."""

    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes


class Line:
    """Lets one thread hang up on the call of another. One line serves one call at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self.is_cut = False

    def cut(self) -> None:
        """Ends the call that is under way, and every later one."""
        with self._lock:
            self.is_cut = True
            if self._connection is not None:
                _shut(self._connection)

    def take(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if self.is_cut:
                raise ConnectionAbortedError("hung up")
            self._connection = connection

    def leave(self) -> None:
        with self._lock:
            self._connection = None


class Connections:
    """A small pool: a call takes a connection, or opens one, and gives it back once the answer has been read.

    A connection that the server has closed meanwhile is noticed before it is used, so a call that fails has failed on a
    connection that was alive; whether it is repeated is decided above.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise ValueError(f"the address of a server looks like http://127.0.0.1:8000, not {url!r}")
        self._host = parts.hostname
        self._port = parts.port
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._lock = threading.Lock()
        self._kept: list[tuple[float, http.client.HTTPConnection]] = []

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float, line: Line | None
    ) -> RawAnswer:
        """Makes one call. Raises OSError or HTTPException if there is no whole answer within the time."""
        deadline = time.monotonic() + timeout
        connection = self.open(timeout)
        try:
            if line is not None:
                line.take(connection)
            connection.request(method, path, body, dict(headers))
            response = connection.getresponse()
            content = _read(connection, response, deadline)
        except BaseException:
            connection.close()
            raise
        finally:
            if line is not None:
                line.leave()
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return RawAnswer(response.status, response.reason, lower_names(response), content)

    def open(self, timeout: float) -> http.client.HTTPConnection:
        """A connection that is open, or is opened by its first call."""
        connection = self._kept_one()
        if connection is None:
            if self._tls is None:
                connection = http.client.HTTPConnection(self._host, self._port, timeout=timeout)
            else:
                connection = http.client.HTTPSConnection(self._host, self._port, timeout=timeout, context=self._tls)
            connection.connect()
            # Heads and bodies are written apart; the second must not wait for the first to be acknowledged.
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sock.settimeout(timeout)
        return connection

    def close(self) -> None:
        """Closes what is idle. The pool can be used again."""
        with self._lock:
            kept, self._kept = self._kept, []
        for _, connection in kept:
            connection.close()

    def _kept_one(self) -> http.client.HTTPConnection | None:
        while True:
            with self._lock:
                if not self._kept:
                    return None
                since, connection = self._kept.pop()
            if time.monotonic() - since < _KEPT_SECS and not _is_closed(connection):
                return connection
            connection.close()

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._kept) < _KEPT:
                self._kept.append((time.monotonic(), connection))
                return
        connection.close()


def _read(connection: http.client.HTTPConnection, response: http.client.HTTPResponse, deadline: float) -> bytes:
    length = response.length
    if length is not None and length <= _PIECE:
        return response.read()
    pieces: list[bytes] = []
    while piece := response.read(_PIECE):
        pieces.append(piece)
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer did not end in time")
        # A response that announces its own end may have let go of the socket already.
        if connection.sock is not None:
            connection.sock.settimeout(left)
    return b"".join(pieces)


def lower_names(response: http.client.HTTPResponse) -> dict[str, str]:
    """The headers of an answer, by their names in lower case."""
    return {name.lower(): value for name, value in response.headers.items()}


def _is_closed(connection: http.client.HTTPConnection) -> bool:
    """An idle connection has nothing to read, unless the server has closed it (or speaks out of turn)."""
    try:
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(connection.sock, select.POLLIN)
            return bool(poll.poll(0))
        return bool(select.select([connection.sock], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _shut(connection: http.client.HTTPConnection) -> None:
    try:
        connection.sock.shutdown(socket.SHUT_RDWR)
    except (OSError, AttributeError):
        pass
