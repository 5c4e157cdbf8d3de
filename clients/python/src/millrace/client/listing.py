"""Lists that are read page by page as they are walked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from ..http.transport import Query
from ..tasks.policy import instant

T = TypeVar("T")

_LARGEST_PAGE = 100


class Listing(Generic[T]):
    """A list, read as it is walked. Nothing is read before the first step; each loop starts from the beginning."""

    def __init__(self, field: str, limit: int | None, read: Callable[[str | None], Mapping[str, Any]]) -> None:
        self._field = field
        self._limit = limit
        self._read = read

    def __iter__(self) -> Iterator[T]:
        left = self._limit
        cursor: str | None = None
        while left is None or left > 0:
            page = self._read(cursor)
            for item in page[self._field]:
                yield item
                if left is not None:
                    left -= 1
                    if left <= 0:
                        return
            cursor = page.get("next_cursor") if page.get("has_more", False) else None
            if cursor is None:
                return

    def page(self, cursor: str | None = None) -> Mapping[str, Any]:
        """One page as the service answers it: the first, or the one that a `next_cursor` leads to."""
        return self._read(cursor)


def list_query(
    limit: int | None,
    oldest_first: bool = False,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    include_total: bool = False,
    **filters: str | int | bool | None,
) -> Query:
    """The parameters that all lists have in common, and those of one."""
    return {
        "limit": _LARGEST_PAGE if limit is None else min(limit, _LARGEST_PAGE),
        "order_by": "created_at ASC" if oldest_first else None,
        "created_after": None if created_after is None else instant(created_after),
        "created_before": None if created_before is None else instant(created_before),
        "include_total": True if include_total else None,
        **filters,
    }


def task_name(task: Any) -> str | None:
    """The name of a task, or the name itself."""
    return task if task is None or isinstance(task, str) else str(task.name)


def joined(status: Any) -> str | None:
    """One state, or several."""
    return status if status is None or isinstance(status, str) else ",".join(status)
