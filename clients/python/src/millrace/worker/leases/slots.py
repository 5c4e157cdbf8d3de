"""How many jobs of a queue may run."""

from __future__ import annotations

import threading


class Slots:
    """The slots of one queue.

    A handler takes one until it ends, even if it ignores that it was told to stop. Jobs whose report waits for an
    answer take none, unless they are more than the queue has slots: a server that hands out jobs but takes no reports
    must not fill the memory.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._changed = threading.Condition()
        self._running = 0
        self._reporting = 0
        self._waiting = False

    def wait_free(self, most_secs: float) -> int:
        """How many jobs could start now; waits for a while if there are none."""
        with self._changed:
            if self._free() <= 0:
                self._waiting = True
                self._changed.wait(most_secs)
                self._waiting = False
            return self._free()

    def take(self, count: int) -> None:
        with self._changed:
            self._running += count

    def leave(self) -> None:
        with self._changed:
            self._running -= 1
            if self._waiting:
                self._changed.notify_all()

    def start_reports(self, count: int = 1) -> None:
        with self._changed:
            self._reporting += count

    def end_report(self) -> None:
        with self._changed:
            self._reporting -= 1
            if self._waiting:
                self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _free(self) -> int:
        return self._count - self._running - max(0, self._reporting - self._count)
