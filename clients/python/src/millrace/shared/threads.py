"""Threads that are reused, and that never keep a program from ending."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

Work = Callable[[], object]

_IDLE_SECS = 30.0


class DaemonThreads:
    """Runs work at once, each in a thread of its own, and keeps idle threads for a while.

    Unlike an executor it has no limit of its own (whoever uses it has one), queues nothing behind busy threads, and
    does not make the interpreter wait at its end for work that never ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._work: SimpleQueue[Work] = SimpleQueue()
        self._idle = 0
        self._started = 0

    def run(self, work: Work) -> None:
        """Runs the work in another thread. What it raises is lost: it must not raise."""
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
                fresh = False
            else:
                self._started += 1
                fresh = True
        if fresh:
            threading.Thread(
                target=self._serve, args=(work,), name=f"{self._name}-{self._started}", daemon=True
            ).start()
        else:
            self._work.put(work)

    def _serve(self, work: Work | None) -> None:
        while work is not None:
            work()
            work = self._next()

    def _next(self) -> Work | None:
        with self._lock:
            self._idle += 1
        try:
            return self._work.get(timeout=_IDLE_SECS)
        except Empty:
            pass
        with self._lock:
            # Somebody may have counted on this thread just now; the work is then on its way.
            if self._idle == 0:
                leaving = False
            else:
                self._idle -= 1
                leaving = True
        return None if leaving else self._work.get()
