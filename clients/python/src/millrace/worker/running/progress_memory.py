"""What attempts last said about themselves."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_MOST = 1000


class ProgressMemory:
    """For the next attempt of the same job, if this process gets it again. The oldest are forgotten."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    def set(self, job_id: str, value: Mapping[str, Any]) -> None:
        with self._lock:
            self._last[job_id] = value
            self._last.move_to_end(job_id)
            if len(self._last) > _MOST:
                self._last.popitem(last=False)

    def get(self, job_id: str) -> Mapping[str, Any] | None:
        return self._last.get(job_id)

    def forget(self, job_id: str) -> None:
        if job_id in self._last:
            with self._lock:
                self._last.pop(job_id, None)
