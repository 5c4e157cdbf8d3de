"""Which step calls: jobs that a step creates are counted within it.

After a wake, steps that have run are skipped; a count over the whole handler would be shifted by that.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar


class _StepCalls:
    def __init__(self, name: str) -> None:
        # Keys are sent as headers, and names are in any alphabet.
        self.mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.numbers = itertools.count(1)


_current: ContextVar[_StepCalls | None] = ContextVar("millrace_step", default=None)


@contextmanager
def in_step(name: str) -> Generator[None, None, None]:
    """One try of a step: another one counts from the beginning, and creates nothing twice."""
    token = _current.set(_StepCalls(name))
    try:
        yield
    finally:
        _current.reset(token)


def ordinal_of_call(outside: itertools.count[int]) -> str:
    """What tells a call from the others of its job: its number in its step, or outside of all steps."""
    step = _current.get()
    return str(next(outside)) if step is None else f"{step.mark}:{next(step.numbers)}"
