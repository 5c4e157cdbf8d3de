"""Which calls are repeated, and when."""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

# Jitter grows from the first to the last of these, fourfold per try.
_FIRST_JITTER = 0.2
_MAX_JITTER = 5.0
# A server that asks for more is asked again after this.
_MAX_RETRY_AFTER = 60.0

_REPEATED = frozenset({500, 502, 503, 504})


def is_repeated(status: int) -> bool:
    """Whether an answer with this status says nothing final about the call."""
    return status in _REPEATED


def retry_delay(tries: int, retry_after: float | None) -> float:
    """How long to wait before the next try: what the server asked for, or a random time that grows with the tries."""
    if retry_after is not None:
        return min(retry_after, _MAX_RETRY_AFTER)
    return random.random() * min(_FIRST_JITTER * 4.0 ** min(tries - 1, 10), _MAX_JITTER)


def parse_retry_after(header: str | None) -> float | None:
    """The seconds that a `Retry-After` header asks for: a number, or a date. None if there is none to be read."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
