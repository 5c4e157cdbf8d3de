"""From Python values to JSON and back: dataclasses and pydantic models; everything else is JSON already, or refused."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Protocol, Union, get_args, get_origin


class DataclassInstance(Protocol):
    """Any instance of a dataclass."""

    __dataclass_fields__: typing.ClassVar[dict[str, Any]]


class ModelInstance(Protocol):
    """Any instance of a pydantic model."""

    def model_dump(self, *, mode: str = ...) -> dict[str, Any]: ...


#: What a task may return: a JSON object, as a dict, a dataclass or a pydantic model; or nothing.
Result = Mapping[str, Any] | DataclassInstance | ModelInstance | None

Converter = Callable[[Any], Any]


def to_json(value: Any) -> object:
    """What stands for a value in JSON, for values that JSON does not know; the contents are converted in turn."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if dump is not None and not isinstance(value, type):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(
        f"{type(value).__name__} is not JSON: use text, numbers, lists, dicts, dataclasses or pydantic models"
    )


def converter(annotation: Any) -> Converter | None:
    """Makes what the annotation says from JSON; None if JSON is that already."""
    if isinstance(annotation, type) and hasattr(annotation, "model_validate"):
        validate: Converter = annotation.model_validate
        return validate
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _dataclass_converter(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _union_converter(arguments)
    if origin is list and (each := converter(arguments[0])) is not None:
        return _list_converter(each)
    if origin is dict and (each := converter(arguments[1])) is not None:
        return _dict_converter(each)
    if origin is typing.Annotated:
        return converter(arguments[0])
    return None


def hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a function. Those that cannot be resolved at run time convert nothing."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:
        return {}


def _dataclass_converter(kind: type[Any]) -> Converter:
    fields = hints(kind)
    inner = {name: each for name, hint in fields.items() if (each := converter(hint)) is not None}
    known = {field.name for field in dataclasses.fields(kind)}

    def convert(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} is made of an object, not of {type(value).__name__}")
        given: dict[str, Any] = value
        if unknown := set(given) - known:
            raise TypeError(f"{kind.__name__} has no field {', '.join(sorted(unknown))}")
        return kind(**{name: inner[name](part) if name in inner else part for name, part in given.items()})

    return convert


def _union_converter(arguments: tuple[Any, ...]) -> Converter | None:
    """Of several classes the first that fits counts."""
    members = [each for argument in arguments if (each := converter(argument)) is not None]
    if not members:
        return None
    plain = len(members) < len([argument for argument in arguments if argument is not type(None)])

    def convert(value: Any) -> Any:
        if value is None:
            return None
        problem: Exception | None = None
        for member in members:
            try:
                return member(value)
            except (TypeError, ValueError) as error:
                problem = error
        if plain or problem is None:
            return value
        raise problem

    return convert


def _list_converter(each: Converter) -> Converter:
    def convert(value: Any) -> Any:
        return [each(item) for item in value]

    return convert


def _dict_converter(each: Converter) -> Converter:
    def convert(value: Any) -> Any:
        return {name: each(item) for name, item in value.items()}

    return convert
