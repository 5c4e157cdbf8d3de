"""One attempt of a durable job: what it has done before, and what it waits for."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, NoReturn, Protocol

from ...errors.handler_errors import NonRetryableError, Suspended
from ...shared.instants import moment
from ...shared.off_loop import off_loop
from ...wire.types import ChildJob
from ..leases.stop_switch import StopSwitch
from ..reports.outcome import Outcome, Waiting, failure, retryable_failure
from .suspension import Suspension, is_suspended

_NAME_MAX_LENGTH = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class Stored:
    """What a job has stored before, and the deadlines of waits that nothing has ended yet, by name."""

    values: Mapping[str, Any] = field(default_factory=dict[str, Any])
    deadlines: Mapping[str, str] = field(default_factory=dict[str, str])


class CheckpointStore(Protocol):
    """Where a durable job keeps what it has done."""

    def load(self) -> Stored: ...

    def store(self, name: str, text: str) -> Any:
        """Stores JSON text; returns what stands under the name: this value, or one that was there before."""
        ...

    def create(self, children: Sequence[ChildJob]) -> None:
        """Creates jobs in the name of this one, once per name."""
        ...

    def enqueue(self, child: ChildJob) -> str | None:
        """The same for one that nobody waits for; returns its id. None: a worker may not create it here."""
        ...


class DurableState:
    """Nothing is done again that was done before, by name and never by position. Handlers may have threads."""

    def __init__(self, store: CheckpointStore, started_at: str, left: Callable[[], float], stop: StopSwitch) -> None:
        """`started_at` is when the attempt began by the server's clock, `left` how many seconds it may go on."""
        self.store = store
        self.left = left
        self.stop = stop
        self._started_at = started_at
        self._changed = threading.Condition()
        self._loading = threading.Lock()
        self._stored: Stored | None = None
        # Where each name was used first.
        self._places: dict[str, str] = {}
        self._child_places: dict[str, str] = {}
        self._running = 0
        # The name of the wait that has begun.
        self._open: str | None = None
        self._suspension: Suspension | None = None
        # A second wait beside the first, which nobody may have noticed: `gather` tells of the first alone.
        self._mistake: NonRetryableError | None = None

    @property
    def is_loaded(self) -> bool:
        return self._stored is not None

    def load(self) -> Stored:
        """Asks once, when the handler first uses a name."""
        with self._loading:
            if self._stored is None:
                self._stored = self.store.load()
            return self._stored

    def use(self, name: str, calls: Sequence[str] = ()) -> None:
        """A name used twice would get the value of the other; so would that of a child."""
        if not 1 <= len(name) <= _NAME_MAX_LENGTH:
            raise NonRetryableError(f"the name of a step has 1 to {_NAME_MAX_LENGTH} characters, not {len(name)}")
        here = _place()
        with self._changed:
            for places, each in [(self._places, name), *((self._child_places, child) for child in calls)]:
                before = places.setdefault(each, here)
                if before is not here:
                    raise NonRetryableError(
                        f'the name "{each}" is used twice in one attempt: first {before}, then {here}'
                    )

    @contextmanager
    def running(self) -> Generator[None, None, None]:
        """A step runs: the attempt does not end before its result is stored."""
        with self._changed:
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    @property
    def has_running(self) -> bool:
        return self._running > 0

    def suspend(self, suspension: Suspension) -> NoReturn:
        """Ends the attempt, to go on when the wait is over."""
        self.open_wait(suspension.checkpoint)
        self._suspension = suspension
        raise Suspended(f"the job waits ({suspension.checkpoint}); let this pass")

    def open_wait(self, name: str) -> None:
        """Begins a wait; a second one beside it is a mistake, which is remembered until the handler has ended."""
        with self._changed:
            first = self._open = self._open or name
            if first == name:
                return
            self._mistake = NonRetryableError(
                f'the job waits for "{first}" already; a handler has one wait at a time, '
                f'so end it before "{name}" begins, or wait for several jobs with ctx.call_all'
            )
        raise self._mistake

    def is_over(self, until: str) -> bool:
        """Whether the attempt began at or after an instant, both by the server's clock."""
        return _milliseconds(self._started_at) >= _milliseconds(until)

    def conclude(self, said: Outcome, raised: BaseException | None) -> Outcome:
        """How the attempt ends. Steps that still run end first, and are stored."""
        with self._changed:
            self._changed.wait_for(lambda: self._running == 0)
        if self._mistake is not None:
            return failure(self._mistake)
        if self._suspension is None:
            return said
        if is_suspended(raised):
            return Waiting(self._suspension)
        name = self._suspension.checkpoint
        return retryable_failure(
            f'the handler went on after it was to wait for "{name}": it caught Suspended, which must pass', raised
        )


def concluded(durable: DurableState | None, said: Outcome, raised: BaseException | None) -> Outcome:
    """How an attempt ends whose handler said, or raised, this; None: it has used nothing of what makes it durable."""
    return said if durable is None else durable.conclude(said, raised)


async def aconcluded(durable: DurableState | None, said: Outcome, raised: BaseException | None) -> Outcome:
    """The same on an event loop, where the steps that still run are tasks."""
    if durable is None or not durable.has_running:
        return concluded(durable, said, raised)
    return await off_loop(lambda: durable.conclude(said, raised))


def _place() -> str:
    """The line of the program that called us, for a message."""
    frame = inspect.currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("millrace."):
        frame = frame.f_back
    return "at an unknown place" if frame is None else f"at {frame.f_code.co_filename}:{frame.f_lineno}"


def _milliseconds(instant: str) -> int:
    """What the service writes is compared no finer than other workers do."""
    return (moment(instant) - _EPOCH) // timedelta(milliseconds=1)
