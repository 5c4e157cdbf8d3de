"""Requests and answers of the fake server."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...http.connections import Line
from .problem import Problem, invalid
from .store import Store, instant


@dataclass(frozen=True)
class FakeRequest:
    """A request as the routes see it."""

    store: Store
    #: The parts of the path that a route names, decoded.
    params: Sequence[str]
    query: Mapping[str, str]
    #: The parsed body; None if it is empty.
    body: Any
    headers: Mapping[str, str]
    #: How long the caller waits, in real seconds.
    timeout: float
    line: Line | None

    @property
    def key(self) -> str | None:
        return next((value for name, value in self.headers.items() if name.lower() == "idempotency-key"), None)


Reply = tuple[int, Any]
Route = Callable[[FakeRequest], Reply]
Filters = Mapping[str, Callable[[Mapping[str, Any], str], bool]]

_PARAMETERS = {"limit", "order_by", "include_total", "cursor", "created_after", "created_before"}


def once(request: FakeRequest, kind: str, make: Callable[[str | None], Any]) -> Reply:
    """Creates something once per key: a repeat is answered as the first time."""
    body_key = request.body.get("idempotency_key") if kind == "job" and isinstance(request.body, dict) else None
    key = request.key or body_key
    if key is None:
        return 201, make(None)
    before = request.store.keys.get(key)
    if before is None:
        before = request.store.keys[key] = (kind, make(key))
    elif before[0] != kind:
        raise Problem(409, "conflict", "the key was used for another kind of request")
    return 201, before[1]


def page(request: FakeRequest, field: str, items: Sequence[Mapping[str, Any]], filters: Filters | None = None) -> Reply:
    """One page of a list that is in order of creation. The cursor is the number of items before it."""
    query, filters = request.query, filters or {}
    for name in query:
        if name not in _PARAMETERS and name not in filters:
            raise invalid(f"{name} is not a known parameter")
    matching = [item for item in items if _matches(item, query, filters)]
    if query.get("order_by") != "created_at ASC":
        matching.reverse()
    limit = int(query.get("limit", "20"))
    start = _place(query.get("cursor"), field)
    more = start + limit < len(matching)
    answer: dict[str, Any] = {field: matching[start : start + limit], "limit": limit, "offset": 0, "has_more": more}
    if more:
        answer["next_cursor"] = base64.urlsafe_b64encode(json.dumps([field, start + limit]).encode()).decode()
    if query.get("include_total") == "true":
        answer["total"] = len(matching)
    return 200, answer


def _matches(item: Mapping[str, Any], query: Mapping[str, str], filters: Filters) -> bool:
    after, before = query.get("created_after"), query.get("created_before")
    if after is not None and instant(item["created_at"]) < instant(after):
        return False
    if before is not None and instant(item["created_at"]) >= instant(before):
        return False
    return all(matches(item, query[name]) for name, matches in filters.items() if name in query)


def _place(cursor: str | None, field: str) -> int:
    if cursor is None:
        return 0
    try:
        name, place = json.loads(base64.urlsafe_b64decode(cursor))
    except ValueError:
        name, place = None, 0
    if name != field:
        raise invalid("cursor is not one of this list")
    return int(place)


def same(field: str) -> Callable[[Mapping[str, Any], str], bool]:
    """A filter by the value of a field."""
    return lambda item, value: bool(item[field] == value)
