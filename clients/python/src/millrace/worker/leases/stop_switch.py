"""Tells a handler to stop, once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ...errors.handler_errors import StopHandler

_lock = threading.Lock()


class StopSwitch:
    """Most handlers never look at it, so it holds nothing that costs anything to make."""

    __slots__ = ("_event", "_listener", "reason", "told_at")

    def __init__(self) -> None:
        #: Why the handler is to stop; None while it is not.
        self.reason: StopHandler | None = None
        self.told_at = 0.0
        self._event: threading.Event | None = None
        self._listener: Callable[[StopHandler], None] | None = None

    def stop(self, reason: StopHandler) -> None:
        """The first reason stands."""
        with _lock:
            if self.reason is not None:
                return
            self.reason = reason
            self.told_at = time.monotonic()
            event, listener = self._event, self._listener
        if event is not None:
            event.set()
        if listener is not None:
            listener(reason)

    def on_stop(self, listener: Callable[[StopHandler], None]) -> None:
        """There is one listener: the attempt. It is called at once if the switch has been thrown already."""
        with _lock:
            self._listener = listener
            reason = self.reason
        if reason is not None:
            listener(reason)

    def wait(self, seconds: float) -> bool:
        """Sleeps until it is thrown, but not longer; returns whether it is."""
        with _lock:
            if self.reason is not None:
                return True
            if self._event is None:
                self._event = threading.Event()
            event = self._event
        return event.wait(seconds)
