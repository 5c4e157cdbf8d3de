"""Durations: seconds as a number, or a timedelta. The service counts whole seconds; others are rounded up."""

from __future__ import annotations

import math
from datetime import timedelta

Duration = int | float | timedelta


def seconds(duration: Duration) -> float:
    """The duration in seconds.

    Raises TypeError or ValueError if it is none: text, negative, or not finite.
    """
    if isinstance(duration, timedelta):
        number: float = duration.total_seconds()
    # bool is a number to Python, and never meant as one.
    elif isinstance(duration, (int, float)) and not isinstance(duration, bool):
        number = duration
    else:
        raise TypeError(f"a duration is a number of seconds or a timedelta, not {duration!r}")
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"a duration is finite and not negative, not {duration!r}")
    return number


def whole_seconds(duration: Duration) -> int:
    """The duration in whole seconds, rounded up."""
    return math.ceil(seconds(duration))
