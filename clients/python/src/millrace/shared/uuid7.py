"""Keys that lie next to each other in an index."""

from __future__ import annotations

import os
import threading
import time
import uuid

_lock = threading.Lock()
_last = 0


def uuid7() -> str:
    """A UUID of version 7: random, but beginning with the time in milliseconds.

    Keys made one after another lie next to each other in an index. Never goes back within a process, even if the clock
    does.
    """
    global _last  # noqa: PLW0603 - the one place that remembers the last instant
    with _lock:
        _last = max(_last, time.time_ns() // 1_000_000)
        now = _last
    value = (now & (1 << 48) - 1) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))
