"""How an attempt ended, as it will be reported."""

from __future__ import annotations

import math
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors.handler_errors import NonRetryableError, RetryAfterError
from ...tasks.task import result_text
from ..durable.suspension import Suspension

# The service cuts at 65,536 characters and 64 KiB; no need to send more.
_ERROR_MAX_LENGTH = 65_536
_RETRY_AFTER_MAX = 2_592_000


@dataclass(frozen=True)
class Completed:
    """`result` is JSON text: written once, however often it is sent."""

    result: str


@dataclass(frozen=True)
class Failed:
    error: str
    retryable: bool
    retry_after_secs: int | None = None
    details: Mapping[str, str] | None = None
    #: What the handler raised, for the program's own listeners; not sent.
    cause: BaseException | None = None

    def fields(self) -> dict[str, Any]:
        """As they are sent."""
        fields: dict[str, Any] = {"error": self.error, "retryable": self.retryable}
        if self.retry_after_secs is not None:
            fields["retry_after_secs"] = self.retry_after_secs
        if self.details is not None:
            fields["details"] = self.details
        return fields


@dataclass(frozen=True)
class Released:
    """Another worker is to run it, after the delay if there is one."""

    delay_secs: int | None = None


@dataclass(frozen=True)
class Waiting:
    """It goes on when what it waits for has come."""

    suspension: Suspension


Outcome = Completed | Failed | Released | Waiting


def completion(task_name: str, returned: object) -> Outcome:
    """What a handler returned, as an outcome; a permanent failure if it is no result."""
    try:
        return Completed(result_text(task_name, returned))
    except (TypeError, ValueError, RecursionError) as error:
        return permanent_failure(f"the result cannot be written as JSON: {error}", error)


def failure(error: BaseException) -> Failed:
    """What a handler's error means: NonRetryableError ends the job, RetryAfterError names the next attempt."""
    after = min(math.ceil(error.after), _RETRY_AFTER_MAX) if isinstance(error, RetryAfterError) else None
    return Failed(
        _cut(message_of(error)),
        retryable=not isinstance(error, NonRetryableError),
        retry_after_secs=after,
        details={"name": _cut(type(error).__name__), "stack": _cut("".join(traceback.format_exception(error)))},
        cause=error,
    )


def permanent_failure(message: str, cause: BaseException | None = None) -> Failed:
    return Failed(_cut(message), retryable=False, cause=cause)


def retryable_failure(message: str, cause: BaseException | None = None) -> Failed:
    return Failed(_cut(message), retryable=True, cause=cause)


def message_of(error: BaseException) -> str:
    """What an error says; its name if it says nothing."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # an error whose own text raises
        return type(error).__name__


def _cut(text: str) -> str:
    return text[:_ERROR_MAX_LENGTH]
