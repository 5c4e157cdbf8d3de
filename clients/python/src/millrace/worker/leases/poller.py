"""Asks for jobs."""

from __future__ import annotations

import logging
import random
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ...errors.call_errors import AuthError, InvalidRequestError, MillraceError
from ...http.connections import Line
from ...http.transport import Request, Transport
from ..calls.calls import CALL_SECS
from .slots import Slots

_MOST_PER_CALL = 100
# How many tasks the service takes with a poll.
_MOST_TASKS = 200
# The least time between two polls that bring nothing.
_QUIET_SECS = 1.0
_FIRST_BACKOFF = 1.0
_MOST_BACKOFF = 30.0


@dataclass(frozen=True)
class Claimed:
    """What a poll brought."""

    jobs: Sequence[Any]
    #: The text of the whole answer.
    answer: str
    #: The monotonic instant before the call: the lease lasts at least from there.
    called_at: float


@dataclass(frozen=True)
class Offer:
    """What the worker can do, for those who look at it; it changes nothing about what comes."""

    slots: int
    tasks: Sequence[str]

    def fields(self) -> dict[str, Any]:
        """As they are sent."""
        return {"slots": self.slots, "tasks": list(self.tasks[:_MOST_TASKS])}


@dataclass(frozen=True)
class PollerOptions:
    queue: str
    slots: Slots
    transport: Transport
    logger: logging.Logger
    lease_secs: int
    poll_secs: int
    name: str
    offer: Offer
    on_poll: Callable[[], None]
    on_claimed: Callable[[Claimed, Slots], None]
    #: The server does not accept the token: no poll will succeed.
    on_refused: Callable[[AuthError], None]


class Poller:
    """One long poll at a time, for as many jobs as there are free slots: nothing waits in hand."""

    def __init__(self, options: PollerOptions) -> None:
        self._options = options
        self._stopping = threading.Event()
        self._line = Line()
        self._failures = 0
        self._offer = options.offer.fields()
        self._path = f"/queues/{quote(options.queue, safe='')}/lease"
        self._thread = threading.Thread(target=self._run, name=f"millrace-poll-{options.queue}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Polls no more. An open poll may end by itself: hanging up on an answer would lose its jobs for a lease."""
        self._stopping.set()
        self._options.slots.wake()

    def hang_up(self) -> None:
        """Ends an open poll now."""
        self._line.cut()

    def join(self, most_secs: float) -> bool:
        """Whether it has ended."""
        self._thread.join(most_secs)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopping.is_set():
            free = self._options.slots.wait_free(1.0)
            if free > 0 and not self._stopping.is_set():
                self._poll(min(free, _MOST_PER_CALL))

    def _poll(self, free: int) -> None:
        options = self._options
        called_at = time.monotonic()
        options.on_poll()
        body = {
            "max_jobs": free,
            "lease_secs": options.lease_secs,
            "wait_secs": options.poll_secs,
            "worker_id": options.name,
            **self._offer,
        }
        request = Request("POST", self._path, body=body, timeout=options.poll_secs + CALL_SECS, line=self._line)
        try:
            answer = options.transport.call(request)
            self._failures = 0
            jobs = answer.body["jobs"]
            if jobs:
                options.on_claimed(Claimed(jobs, answer.text, called_at), options.slots)
            else:
                # A server that is about to stop, or does not wait, answers at once: no tight loop.
                self._stopping.wait(max(0.0, called_at + _QUIET_SECS - time.monotonic()))
        except Exception as error:
            self._recover(error)

    def _recover(self, error: Exception) -> None:
        if self._line.is_cut:
            return
        if isinstance(error, AuthError):
            self._stopping.set()
            self._options.on_refused(error)
            return
        if isinstance(error, InvalidRequestError) and self._offer:
            self._offer = {}  # a server from before there were offers
            return
        # A bug of ours is not the server's fault, but it must not end the worker either.
        message = str(error) if isinstance(error, MillraceError) else "".join(traceback.format_exception(error))
        asked = error.retry_after if isinstance(error, MillraceError) else None
        backoff = min(_FIRST_BACKOFF * 2.0 ** min(self._failures, 10), _MOST_BACKOFF)
        self._failures += 1
        wait = min(max(asked or 0.0, backoff * (0.75 + random.random() / 4)), _MOST_BACKOFF)
        self._options.logger.warning("cannot lease: %s; trying again in %.1f s", message, wait)
        self._stopping.wait(wait)
