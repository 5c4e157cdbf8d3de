"""References between the steps of a workflow: a convention of workers, described in docs/worker-protocol.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

#: The field that makes an object in a step's payload a reference to the result of another step.
FIELD = "$step"

_NOWHERE = object()


class Reference:
    """A result that does not exist yet. Its fields can be reached; nothing can be computed with it."""

    def __init__(self, step: str, path: tuple[str, ...] = ()) -> None:
        self._step = step
        self._path = path

    def __getitem__(self, field: str) -> Any:
        return Reference(self._step, (*self._path, field))

    @property
    def target(self) -> str:
        """The step whose result it is."""
        return self._step

    def written(self) -> dict[str, Any]:
        """As it is sent."""
        return {FIELD: self._step, "path": list(self._path)} if self._path else {FIELD: self._step}

    def _impossible(self, *_: object) -> NoReturn:
        name = ".".join((self._step, *self._path))
        raise TypeError(f"{name} does not exist before the workflow runs: it can be passed on, not computed with")

    __bool__ = __iter__ = __len__ = __int__ = __float__ = __str__ = __contains__ = _impossible
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __lt__ = __le__ = __gt__ = __ge__ = _impossible

    def __repr__(self) -> str:
        return f"<reference to {'.'.join((self._step, *self._path))}>"


def step_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """What the handler of a workflow step is to see.

    Its payload without `_context`, with every reference replaced by what it refers to. A field whose reference leads
    nowhere (the step failed and was passed over) is left out; in a list it becomes None, so that the others keep their
    places.
    """
    context = payload.get("_context")
    fields = {name: value for name, value in payload.items() if name != "_context"}
    return _fields(fields, context if isinstance(context, dict) else {})


def _fields(fields: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    resolved = {name: _resolve(value, context) for name, value in fields.items()}
    return {name: value for name, value in resolved.items() if value is not _NOWHERE}


def _resolve(value: Any, context: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        items: list[Any] = value
        return [None if (found := _resolve(item, context)) is _NOWHERE else found for item in items]
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = value
    return _look_up(fields, context) if _is_reference(fields) else _fields(fields, context)


def _is_reference(value: Mapping[str, Any]) -> bool:
    if not isinstance(value.get(FIELD), str):
        return False
    if "path" not in value:
        return len(value) == 1
    path = value["path"]
    return len(value) == 2 and isinstance(path, list) and all(isinstance(part, str) for part in path)


def _look_up(reference: Mapping[str, Any], context: Mapping[str, Any]) -> Any:
    at: Any = context
    for name in (reference[FIELD], *reference.get("path", ())):
        if not isinstance(at, dict) or name not in at:
            return _NOWHERE
        at = at[name]
    return at
