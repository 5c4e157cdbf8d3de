"""How a worker calls the server."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...errors.call_errors import MillraceError
from ...http.transport import Exchange, Hooks, Request, Transport

T = TypeVar("T")
U = TypeVar("U")

#: How long a call may take unless it says otherwise, in seconds.
CALL_SECS = 10.0
_OPTIONAL = ("reports", "heartbeats", "release", "progress", "durable", "logs")


@dataclass(frozen=True)
class Connection:
    """Where the server is and how it is spoken to."""

    url: str
    token: str
    logger: logging.Logger
    hooks: Hooks | None = None
    exchange: Exchange | None = None

    def open(self) -> Transport:
        """One try per call: everything in a worker has a schedule of its own for repeating things."""
        return Transport(
            self.url,
            self.token,
            timeout=CALL_SECS,
            attempts=1,
            logger=self.logger,
            hooks=self.hooks,
            exchange=self.exchange,
        )


class AssumedFeatures:
    """What the server can do beyond the plain protocol.

    Assumed to be everything until it says otherwise, by `whoami` or by not knowing a route; from then on the worker
    falls back.
    """

    def __init__(self) -> None:
        self._missing: set[str] = set()
        self._asked = threading.Event()

    def has(self, feature: str) -> bool:
        return feature not in self._missing

    def lacks(self, *features: str) -> None:
        self._missing.update(features)
        # Jobs are given back through reports; the two came together.
        if "reports" in self._missing:
            self._missing.add("release")

    def ask(self, transport: Transport) -> None:
        """Asks the server. Without an answer, the routes themselves will tell."""
        try:
            known = transport.call(Request("GET", "/whoami")).body["features"]
            self.lacks(*(feature for feature in _OPTIONAL if feature not in known))
        except MillraceError as error:
            if is_unknown_route(error):
                self.lacks(*_OPTIONAL)
        finally:
            self._asked.set()

    def is_known(self, feature: str) -> bool:
        """For what cannot fall back: asks once the server was asked, whether or not it has answered."""
        self._asked.wait(CALL_SECS)
        return self.has(feature)


def is_unknown_route(error: MillraceError) -> bool:
    """Whether the server does not know the route that was called."""
    return error.status in (404, 405)


def each_of(items: Sequence[T], most: int, work: Callable[[T], U]) -> list[U]:
    """Does the work for each, at most so many at a time. The work must not raise. Results in the order of the items."""
    results: dict[int, U] = {}
    waiting = iter(enumerate(items))
    lock = threading.Lock()

    def lane() -> None:
        while True:
            with lock:
                following = next(waiting, None)
            if following is None:
                return
            results[following[0]] = work(following[1])

    lanes = [threading.Thread(target=lane, daemon=True) for _ in range(min(most, len(items)) - 1)]
    for thread in lanes:
        thread.start()
    lane()
    for thread in lanes:
        thread.join()
    return [results[number] for number in range(len(items))]
