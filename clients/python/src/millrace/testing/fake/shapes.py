"""Whether a body has the shape that the API asks for, by the generated types."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

from .problem import Problem


def checked(body: Any, shape: Any) -> Any:
    """The body. Unknown fields are refused, as the client asks of the real service."""
    problem = _problem_with(body, shape, "body")
    if problem is not None:
        raise Problem(400, "invalid_request", problem)
    return body


def _problem_with(value: Any, shape: Any, path: str) -> str | None:
    if is_typeddict(shape):
        return _problem_with_object(value, shape, path)
    origin = get_origin(shape)
    if origin in (Union, types.UnionType):
        problems = [_problem_with(value, each, path) for each in get_args(shape)]
        return None if None in problems else problems[0]
    if origin is Literal:
        return None if value in get_args(shape) else f"{path} must be one of {', '.join(map(repr, get_args(shape)))}"
    if origin is list:
        if not isinstance(value, list):
            return f"{path} must be a list"
        each = get_args(shape)[0]
        found = (_problem_with(item, each, f"{path}[{index}]") for index, item in enumerate(value))
        return next((problem for problem in found if problem is not None), None)
    return _problem_with_plain(value, shape, path)


def _problem_with_object(value: Any, shape: Any, path: str) -> str | None:
    if not isinstance(value, dict):
        return f"{path} must be an object"
    hints = get_type_hints(shape)
    for name in value:
        if name not in hints:
            return f"{path}.{name} is not a known field"
    for name in shape.__required_keys__:
        if name not in value:
            return f"{path}.{name} is required"
    found = (_problem_with(part, hints[name], f"{path}.{name}") for name, part in value.items())
    return next((problem for problem in found if problem is not None), None)


def _problem_with_plain(value: Any, shape: Any, path: str) -> str | None:
    if shape is Any:
        return None
    if shape is type(None):
        return None if value is None else f"{path} must be null"
    kind = dict if get_origin(shape) is dict else shape
    # To Python a truth value is a number, and a whole number is not a fraction.
    accepted: Any = (int, float) if kind is float else kind
    if isinstance(value, accepted) and (kind is bool or not isinstance(value, bool)):
        return None
    return f"{path} must be {'an object' if kind is dict else kind.__name__}"
