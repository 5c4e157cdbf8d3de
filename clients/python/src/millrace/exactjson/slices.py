"""Parts of a JSON text as they were written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_SPACE = re.compile(r"[ \t\n\r]*")
_DECODER = json.JSONDecoder()


def member(text: str, name: str) -> str | None:
    """The text of a member of an object; the last one, if the name appears twice, as parsers have it."""
    found: str | None = None
    at = _opening(text, "{")
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        if key == name:
            found = text[at:end]
        at = _following(text, end)
    return found


def elements(text: str) -> Iterator[str]:
    """The texts of the elements of a list."""
    at = _opening(text, "[")
    while text[at] != "]":
        end = _DECODER.raw_decode(text, at)[1]
        yield text[at:end]
        at = _following(text, end)


def _opening(text: str, bracket: str) -> int:
    at = _skip(text, 0)
    if text[at : at + 1] != bracket:
        raise ValueError(f"JSON text does not begin with {bracket}")
    return _skip(text, at + 1)


def _following(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return at if match is None else match.end()
