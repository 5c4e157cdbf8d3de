"""SIGTERM and SIGINT."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NO_MORE = 0


def on_signals(obey: Callable[[], None]) -> Callable[[], None]:
    """Calls `obey` for every signal, in a thread of its own. Returns a function that lets go.

    Only the main thread can listen to signals; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    # A handler interrupts the main thread, which may hold a lock just then; a SimpleQueue is safe to use even so.
    inbox: SimpleQueue[int] = SimpleQueue()
    before = {number: signal.signal(number, lambda number, _: inbox.put(number)) for number in _SIGNALS}

    def listen() -> None:
        while inbox.get() != _NO_MORE:
            obey()

    threading.Thread(target=listen, name="millrace-signals", daemon=True).start()

    def let_go() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        inbox.put(_NO_MORE)

    return let_go
