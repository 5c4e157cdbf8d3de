"""When a schedule fires. All in UTC; the real service knows time zones."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import NamedTuple

from .problem import invalid

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_PART = re.compile(r"(\*|\?|[a-z]+|\d+)(?:-([a-z]+|\d+))?(?:/(\d+))?", re.IGNORECASE)
_MOST_DAYS = 8 * 366


class _Field(NamedTuple):
    values: frozenset[int]
    is_wild: bool


class Timetable:
    """A crontab expression of five fields, or six with the seconds first."""

    def __init__(self, expression: str) -> None:
        parts = _NICKNAMES.get(expression.strip().lower(), expression.strip()).split()
        if len(parts) == 7:
            raise invalid("cron_expr has years, which FakeServer does not know; use a real server")
        if len(parts) not in (5, 6):
            raise invalid("cron_expr must have 5 fields, or 6 with the seconds first")
        second, minute, hour, day, month, weekday = parts if len(parts) == 6 else ["0", *parts]
        seconds, minutes, hours = _field(second, 0, 59), _field(minute, 0, 59), _field(hour, 0, 23)
        self._days, self._months = _field(day, 1, 31), _field(month, 1, 12, _MONTHS)
        weekdays = _field(weekday, 0, 7, _DAYS)
        self._weekdays = _Field(frozenset(each % 7 for each in weekdays.values), weekdays.is_wild)
        self._times = sorted(
            (h * 60 + m) * 60 + s for h in hours.values for m in minutes.values for s in seconds.values
        )

    def next(self, after: datetime) -> datetime | None:
        """The first occurrence after an instant; None if there is none within eight years."""
        midnight = after.replace(hour=0, minute=0, second=0, microsecond=0)
        for days in range(_MOST_DAYS):
            start = midnight + timedelta(days=days)
            if self._matches(start):
                for time in self._times:
                    if start + timedelta(seconds=time) > after:
                        return start + timedelta(seconds=time)
        return None

    def _matches(self, day: datetime) -> bool:
        """If both day fields are restricted, either may match."""
        if day.month not in self._months.values:
            return False
        by_date = day.day in self._days.values
        by_weekday = (day.weekday() + 1) % 7 in self._weekdays.values
        if self._days.is_wild or self._weekdays.is_wild:
            return by_date and by_weekday
        return by_date or by_weekday


def _field(text: str, low: int, high: int, names: list[str] | None = None) -> _Field:
    values: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise invalid(f"cron_expr has a field that cannot be read: {part}")
        begin, end, step = match.groups()
        is_any = begin in ("*", "?")
        first = low if is_any else _number(begin, low, high, names)
        last = _number(end, low, high, names) if end else high if is_any or step else first
        by = int(step or 1)
        if last < first or by < 1:
            raise invalid(f"cron_expr has a field that cannot be read: {part}")
        values.update(range(first, last + 1, by))
    return _Field(frozenset(values), text[0] in "*?")


def _number(text: str, low: int, high: int, names: list[str] | None) -> int:
    word = text.lower()[:3]
    value = names.index(word) + low if names and word in names else int(text) if text.isdigit() else -1
    if not low <= value <= high:
        raise invalid(f"cron_expr has a value out of range: {text}")
    return value
