"""Instants as the service writes them."""

from __future__ import annotations

import re
from datetime import datetime

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)")


def moment(text: str) -> datetime:
    """The datetime of an instant, with however many digits. Raises ValueError if it is none.

    `datetime.fromisoformat` of Python 3.10 knows no Z, and fractions of three or six digits only.
    """
    found = _INSTANT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not an instant such as 2031-01-30T03:00:00Z")
    whole, fraction, zone = found.groups()
    return datetime.fromisoformat(f"{whole}.{(fraction or '')[:6]:0<6}{'+00:00' if zone in 'Zz' else zone}")
