"""SIGTERM and SIGINT."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_NO_MORE = 0


def on_signals(obey: Callable[[], None]) -> Callable[[], None]:
    """Calls `obey` for every signal, in a thread of its own. Returns a function that lets go.

    Python runs handlers of signals in the main thread only, and does not wake it if the system has given the signal to
    another thread, as it does with the second of two that come close together. So the signals are read from a socket,
    to which Python writes them whatever thread they came to. Elsewhere than in the main thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return lambda: None
    heard, told = socket.socketpair()
    told.setblocking(False)
    fd_before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    before = {number: signal.signal(number, _nothing) for number in _SIGNALS}

    def listen() -> None:
        while True:
            for number in heard.recv(64):
                if number == _NO_MORE:
                    heard.close()
                    told.close()
                    return
                if number in _SIGNALS:
                    obey()

    threading.Thread(target=listen, name="millrace-signals", daemon=True).start()

    def let_go() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(fd_before)
        told.send(bytes([_NO_MORE]))

    return let_go


def _nothing(*_: object) -> None:
    """Instead of what the signal does by itself; the thread that listens does the rest."""
