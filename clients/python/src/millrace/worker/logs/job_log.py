"""The logger of a handler."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from ...tasks.context import RunningJob
from ...wire.types import LogLevel, NewLogLine
from ..leases.log_buffer import new_line

if TYPE_CHECKING:
    _Adapter = logging.LoggerAdapter[logging.Logger]
else:
    _Adapter = logging.LoggerAdapter  # takes no parameter at run time before Python 3.11

# Between the handler and the logger stands `JobLog.log`; before Python 3.11 frames of `logging` count, too.
_FRAMES = 1 if sys.version_info >= (3, 11) else 2


class JobLog(_Adapter):
    """Every line says which job it is about, as text and as fields of the record; and is kept with the attempt.

    Kept is what the logger is enabled for, and from `info` on everything: how much a program prints says nothing about
    what is worth knowing about a job.
    """

    def __init__(self, logger: logging.Logger, job: RunningJob, keep: Callable[[NewLogLine], None] | None) -> None:
        super().__init__(logger, {"job": job.id, "task": job.task, "attempt": job.attempt})
        self._keep = keep

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        if self._keep is not None and (level >= logging.INFO or self.isEnabledFor(level)):
            self._keep(_line_of(level, msg, args, kwargs))
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + _FRAMES
        super().log(level, msg, *args, **kwargs)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        fields = dict(self.extra or {})
        kwargs["extra"] = {**fields, **(kwargs.get("extra") or {})}
        return f"{msg} (job {fields['job']}, task {fields['task']}, attempt {fields['attempt']})", kwargs


def _line_of(level: int, msg: object, args: tuple[object, ...], kwargs: Mapping[str, Any]) -> NewLogLine:
    """A line never fails: one that cannot be written is kept as far as it can."""
    try:
        # As `logging` does it: the record knows how arguments are put in.
        message = logging.LogRecord("", level, "", 0, msg, args, None).getMessage()
    except Exception as error:
        message = f"{msg!r} with {len(args)} arguments ({error})"
    fields: dict[str, Any] = dict(kwargs.get("extra") or {})
    raised = _raised(kwargs.get("exc_info"))
    if raised is not None:
        fields["stack"] = "".join(traceback.format_exception(raised))
    return new_line(_word(level), message, fields)


def _raised(given: Any) -> BaseException | None:
    if isinstance(given, tuple):
        given = given[1]
    return given if isinstance(given, BaseException) else sys.exc_info()[1] if given else None


def _word(level: int) -> LogLevel:
    if level >= logging.ERROR:
        return "error"
    if level >= logging.WARNING:
        return "warn"
    return "info" if level >= logging.INFO else "debug"
