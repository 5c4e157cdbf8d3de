"""JSON in and out: numbers as exact as Python can hold them, text that survives every encoding."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

JsonObject = dict[str, Any]


class JsonText(dict[str, Any]):
    """A result that is JSON text already, and is sent as it is; made by `json_text`."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


def json_text(text: str) -> dict[str, Any]:
    """Makes a result of the JSON text of an object, which is sent as it is, digit for digit.

    >>> json_text(ctx.job.payload_text)  # doctest: +SKIP
    """
    if not isinstance(read(text), dict):
        raise ValueError("the text is not a JSON object")
    return JsonText(text)


def write(value: object, convert: Callable[[Any], object] | None = None) -> str:
    """The JSON text of a value, in ASCII: what cannot be encoded otherwise (half a surrogate pair) survives too.

    Raises TypeError for what is not JSON, and ValueError for NaN and infinities, which JSON does not know.
    """
    return json.dumps(value, separators=(",", ":"), allow_nan=False, default=convert)


def read(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError if it is none."""
    return json.loads(text)


def as_object(value: object) -> Mapping[str, Any] | None:
    """The value, if it is a JSON object."""
    return value if isinstance(value, dict) else None
