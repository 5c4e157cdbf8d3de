"""Between the arguments of a function and the payload of a job: by name, so that both languages share tasks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..errors.handler_errors import MismatchError
from .conversion import Converter, converter, hints

_REFUSED = inspect.Parameter.VAR_POSITIONAL
_SPREAD = inspect.Parameter.VAR_KEYWORD
_POSITIONAL = inspect.Parameter.POSITIONAL_ONLY


class Arguments:
    """The arguments of one task. Defaults are applied where it runs, so they are not sent."""

    def __init__(self, function: Callable[..., Any], *, skip_first: bool) -> None:
        parameters = list(inspect.signature(function).parameters.values())
        if skip_first:
            if not parameters:
                raise TypeError(f"{function.__name__} has context=True, but no parameter for the context")
            parameters = parameters[1:]
        for parameter in parameters:
            if parameter.kind is _REFUSED:
                raise TypeError(f"{function.__name__} takes *{parameter.name}; arguments of a task have names")
        self._function = function
        self._signature = inspect.Signature(parameters)
        self._spread = next((each.name for each in parameters if each.kind is _SPREAD), None)
        self._named = {each.name: each for each in parameters if each.kind is not _SPREAD}
        self._has_positional = any(each.kind is _POSITIONAL for each in parameters)
        self._converters: dict[str, Converter] | None = None

    def payload(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Raises TypeError, as the call itself would, if they do not fit."""
        bound = self._signature.bind(*args, **kwargs)
        payload = dict(bound.arguments)
        if self._spread is not None:
            payload.update(payload.pop(self._spread, {}))
        return payload

    def restore(self, payload: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments that the function is called with.

        Raises MismatchError if the payload does not fit: a permanent failure, for trying again would not help.
        """
        named = self._named
        given = dict(payload)
        if self._spread is None:
            for name in given:
                if name not in named:
                    raise MismatchError(f"{self._function.__name__} has no argument {name}")
        for name, parameter in named.items():
            if parameter.default is inspect.Parameter.empty and name not in given:
                raise MismatchError(f"{self._function.__name__} misses the argument {name}")
        for name, convert in self._conversions().items():
            if name in given:
                try:
                    given[name] = convert(given[name])
                except (TypeError, ValueError) as error:
                    raise MismatchError(f"the argument {name} of {self._function.__name__}: {error}") from error
        if not self._has_positional:
            return [], given
        first = [name for name, each in named.items() if each.kind is _POSITIONAL and name in given]
        return [given.pop(name) for name in first], given

    def _conversions(self) -> dict[str, Converter]:
        if self._converters is None:
            found = {name: converter(hint) for name, hint in hints(self._function).items() if name in self._named}
            self._converters = {name: each for name, each in found.items() if each is not None}
        return self._converters
