"""What the parts of a client share."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ..errors.call_errors import MethodNotAllowedError, NotFoundError
from ..http.connections import Line
from ..http.transport import Hooks, Query, Request, Transport
from ..shared.uuid7 import uuid7


class ServerFeatures:
    """What the server can do beyond the plain protocol: asked once, when it first matters.

    A server that does not know the question knows none of it.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._lock = threading.Lock()
        self._known: frozenset[str] | None = None

    def has(self, feature: str) -> bool:
        return feature in self._ask()

    def any(self) -> bool:
        """Whether the server has any of them: all of these came with fields that have no name of their own here."""
        return len(self._ask()) > 0

    def _ask(self) -> frozenset[str]:
        with self._lock:
            if self._known is None:
                self._known = self._fetch()
            return self._known

    def _fetch(self) -> frozenset[str]:
        try:
            return frozenset(self._transport.call(Request("GET", "/whoami")).body["features"])
        except (NotFoundError, MethodNotAllowedError):
            return frozenset()


class Session:
    """One tenant's access to one server."""

    def __init__(self, transport: Transport, hooks: Hooks) -> None:
        self.transport = transport
        self.features = ServerFeatures(transport)
        self.hooks = hooks

    def read(self, path: str, query: Query | None = None, line: Line | None = None) -> Any:
        return self.transport.call(Request("GET", path, query or {}, line=line)).body

    def create(
        self,
        path: str,
        body: object = None,
        *,
        key: str | None = None,
        has_key: bool = True,
        key_feature: str | None = None,
        done_if: tuple[str, ...] = (),
        line: Line | None = None,
    ) -> Any:
        """Creates something, once: every create carries a key, so that it can be repeated when no answer came.

        Where an older server would ignore the key (it lacks `key_feature`; `POST /jobs` has always known it), a try
        whose outcome is unknown is not repeated. `has_key` is false where the body carries keys instead.
        """
        repeatable = None if key_feature is None else lambda: self.features.has(key_feature)
        request = Request(
            "POST",
            path,
            body=body,
            key=(key or uuid7()) if has_key else None,
            done_if=done_if,
            repeatable=repeatable,
            line=line,
        )
        return self.transport.call(request).body

    def change(self, method: str, path: str, body: object = None, *, done_if: tuple[str, ...] = ()) -> Any:
        """Changes something in a way that can be repeated without a key."""
        return self.transport.call(Request(method, path, body=body, done_if=done_if)).body

    def metadata(self, task: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Metadata, with what the hook adds."""
        metadata = dict(given or {})
        if self.hooks.on_enqueue is not None:
            metadata.update(self.hooks.on_enqueue(task, metadata) or {})
        return metadata


def segment(text: str) -> str:
    """A segment of a path. `.` and `..` would be taken for directories, whatever their encoding."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} cannot be part of an address")
    return quote(text, safe="")
