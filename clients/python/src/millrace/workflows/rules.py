"""Steps that decide whether they run, and steps that wait for a signal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ..shared.durations import Duration, whole_seconds
from ..wire.types import Ask, OnTimeout, Otherwise, StepCondition, StepWait
from .references import FIELD, Reference

Scalar = str | int | float | bool | None
_ABSENT: Any = object()


class When:
    """Whether a step runs: compares a value with what it is to be, once the turn of the step has come.

    The value is a result of an earlier step, a part of one, or a list of fields that lead to it from the context. Where
    there is none, it is None. Numbers compare by value.

    >>> When(charge["currency"], among=["EUR", "CHF"])  # doctest: +SKIP
    >>> When(charge["state"], is_not="refused", otherwise="continue")  # doctest: +SKIP
    """

    def __init__(
        self,
        ref: object,
        *,
        is_: Scalar = _ABSENT,
        is_not: Scalar = _ABSENT,
        among: Sequence[Scalar] = _ABSENT,
        otherwise: Otherwise = "skip",
    ) -> None:
        """Exactly one of `is_`, `is_not` and `among` is given. If it does not hold, the step is skipped.

        `otherwise`: so is what follows (`skip`), or what follows runs (`continue`).
        """
        if isinstance(among, str):
            raise TypeError("among is a list of values; for one text use is_")
        given: dict[str, Any] = {"is": is_, "is_not": is_not, "in": among if among is _ABSENT else list(among)}
        self._comparison = {name: value for name, value in given.items() if value is not _ABSENT}
        if len(self._comparison) != 1:
            raise TypeError("a condition has exactly one of is_, is_not and among")
        self._ref = _reference(ref)
        self._otherwise = otherwise

    @property
    def target(self) -> str | None:
        """The step that it looks at; None: the context."""
        target: str | None = self._ref.get(FIELD)
        return target

    def written(self) -> StepCondition:
        """As it is sent."""
        return cast(StepCondition, {"ref": self._ref, **self._comparison, "otherwise": self._otherwise})


def _reference(ref: object) -> Any:
    # A step stands for its whole result.
    whole = getattr(ref, "result", None)
    reference = whole if isinstance(whole, Reference) else ref
    if isinstance(reference, Reference):
        return reference.written()
    if isinstance(ref, (list, tuple)) and ref and all(isinstance(part, str) for part in cast("list[object]", ref)):
        return {"path": list(cast("list[str]", ref))}
    raise TypeError('a condition looks at a step, at a field such as charge["state"], or at a list of fields')


def written_wait(
    name: str,
    timeout: Duration,
    signal: str | None,
    key: str | None,
    ask: Ask | str | None,
    on_timeout: OnTimeout,
) -> StepWait:
    """What a step waits for, as it is sent."""
    wait: StepWait = {"signal": name if signal is None else signal, "timeout_secs": whole_seconds(timeout)}
    if key is not None:
        wait["key"] = key
    if ask is not None:
        wait["ask"] = {"text": ask} if isinstance(ask, str) else ask
    if on_timeout != "fail":
        wait["on_timeout"] = on_timeout
    return wait
