"""What a job is suspended with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors.handler_errors import Suspended


@dataclass(frozen=True)
class Suspension:
    """The fields of the report."""

    checkpoint: str
    until: str | None = None
    delay_secs: int | None = None
    wait: Mapping[str, Any] | None = None

    def fields(self) -> dict[str, Any]:
        """As they are sent."""
        return {name: value for name, value in vars(self).items() if value is not None}


def is_suspended(error: BaseException | None) -> bool:
    """Whether an error is a suspension, was caused by one, or is a group with one in it, as task groups raise it."""
    while error is not None:
        if isinstance(error, Suspended):
            return True
        # BaseExceptionGroup does not exist before Python 3.11.
        if any(is_suspended(each) for each in getattr(error, "exceptions", ()) if isinstance(each, BaseException)):
            return True
        error = error.__cause__
    return False
