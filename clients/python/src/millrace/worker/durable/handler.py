"""What handlers call: steps, sleeps and waits, each for threads and for asyncio."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from datetime import datetime, timezone
from typing import Any, TypeVar

from ...errors.handler_errors import NonRetryableError
from ...exactjson.text import write
from ...shared.durations import Duration, seconds, whole_seconds
from ...shared.off_loop import off_loop
from ...tasks.call import Call
from ...tasks.conversion import Converter, converter, hints, to_json
from ...tasks.policy import instant
from ...wire.types import Ask
from .child_calls import CALL_TIMEOUT_SECS, NamedCall, called
from .current_step import in_step
from .state import DurableState, Stored
from .suspension import Suspension

T = TypeVar("T")
R = TypeVar("R")

# Shorter sleeps wait in place.
_IN_PLACE_SECS = 30
_making = threading.Lock()


class DurableCalls:
    """The durable part of a context. It costs nothing before a handler uses it."""

    def __init__(self, make_state: Callable[[], DurableState]) -> None:
        self._make_state = make_state
        self._state: DurableState | None = None

    @property
    def durable(self) -> DurableState | None:
        """None if the handler has not used any of it."""
        return self._state

    def step(self, name: str, run: Callable[[], T], *, retries: int = 0, retry_delay: Duration = 0) -> T:
        state = self._use(name)
        convert = _converter_of(run)
        values = state.load().values
        if name in values:
            before: T = _restored(name, values[name], convert)
            return before
        pause = seconds(retry_delay)
        with state.running():
            returned = _tried(state, name, run, retries, pause)
            # Storing stands outside of the retries: what has returned is not run again here.
            kept: T = _kept(state, name, returned, convert)
            return kept

    def astep(
        self, name: str, run: Callable[[], Awaitable[T]], *, retries: int = 0, retry_delay: Duration = 0
    ) -> Coroutine[Any, Any, T]:
        # Not a coroutine itself: the name is used where it is called, whoever awaits it.
        state = self._use(name)
        return _astep(state, name, run, retries, seconds(retry_delay))

    def sleep(self, name: str, time: Duration | datetime) -> None:
        state = self._use(name)
        stored = state.load()
        if name not in stored.values:
            _pause(state, _in_place(state, stored, name, time))
            state.store.store(name, "null")

    def asleep(self, name: str, time: Duration | datetime) -> Coroutine[Any, Any, None]:
        return _asleep(self._use(name), name, time)

    def wait_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[Any] | None = None,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Any:
        state = self._use(name)
        suspension = _signal_wait(name, timeout, signal, key, ask)
        return _answer(name, _ended_wait(state, suspension), schema)

    def await_for(
        self,
        name: str,
        *,
        timeout: Duration,
        schema: type[Any] | None = None,
        signal: str | None = None,
        key: str | None = None,
        ask: Ask | str | None = None,
    ) -> Coroutine[Any, Any, Any]:
        state = self._use(name)
        suspension = _signal_wait(name, timeout, signal, key, ask)

        async def wait() -> Any:
            return _answer(name, await off_loop(lambda: _ended_wait(state, suspension)), schema)

        return wait()

    def call(self, name: str, call: Call[R], *, timeout: Duration = CALL_TIMEOUT_SECS) -> R:
        result: R = called(self._use(name, [name]), name, [(name, call)], timeout)[0]
        return result

    def acall(self, name: str, call: Call[R], *, timeout: Duration = CALL_TIMEOUT_SECS) -> Coroutine[Any, Any, R]:
        state = self._use(name, [name])

        async def wait() -> R:
            result: R = (await off_loop(lambda: called(state, name, [(name, call)], timeout)))[0]
            return result

        return wait()

    def call_all(self, name: str, calls: Sequence[Call[R]], *, timeout: Duration = CALL_TIMEOUT_SECS) -> list[R]:
        named = _numbered(name, calls)
        return called(self._use(name, [child for child, _ in named]), name, named, timeout)

    def acall_all(
        self, name: str, calls: Sequence[Call[R]], *, timeout: Duration = CALL_TIMEOUT_SECS
    ) -> Coroutine[Any, Any, list[R]]:
        named = _numbered(name, calls)
        state = self._use(name, [child for child, _ in named])
        return off_loop(lambda: called(state, name, named, timeout))

    def _use(self, name: str, calls: Sequence[str] = ()) -> DurableState:
        state = self._made_state()
        state.use(name, calls)
        return state

    def _made_state(self) -> DurableState:
        if self._state is None:
            with _making:
                self._state = self._state or self._make_state()
        return self._state


def _numbered(name: str, calls: Sequence[Call[Any]]) -> list[NamedCall]:
    return [(f"{name} {number}", call) for number, call in enumerate(calls, 1)]


async def _astep(state: DurableState, name: str, run: Callable[[], Any], retries: int, pause: float) -> Any:
    convert = _converter_of(run)
    values = (await _aload(state)).values
    if name in values:
        return _restored(name, values[name], convert)
    with state.running():
        returned = await _atried(name, run, retries, pause)
        return await off_loop(lambda: _kept(state, name, returned, convert))


async def _asleep(state: DurableState, name: str, time: Duration | datetime) -> None:
    stored = await _aload(state)
    if name not in stored.values:
        await asyncio.sleep(_in_place(state, stored, name, time))
        await off_loop(lambda: state.store.store(name, "null"))


async def _aload(state: DurableState) -> Stored:
    return state.load() if state.is_loaded else await off_loop(state.load)


def _tried(state: DurableState, name: str, run: Callable[[], Any], retries: int, pause: float) -> Any:
    failures = 0
    while True:
        try:
            with in_step(name):
                return run()
        except NonRetryableError:
            raise
        except Exception:
            if failures >= retries or state.stop.reason is not None:
                raise
        failures += 1
        _pause(state, pause)


async def _atried(name: str, run: Callable[[], Any], retries: int, pause: float) -> Any:
    failures = 0
    while True:
        try:
            with in_step(name):
                returned = run()
                return await returned if inspect.isawaitable(returned) else returned
        except NonRetryableError:
            raise
        except Exception:
            if failures >= retries:
                raise
        failures += 1
        await asyncio.sleep(pause)


def _kept(state: DurableState, name: str, returned: object, convert: Converter | None) -> Any:
    """Stores what a step returned, and returns what stands: the same value that another attempt will get."""
    if inspect.iscoroutine(returned):
        returned.close()
        raise NonRetryableError(f'the step "{name}" is a coroutine: await ctx.astep(…) runs those, in async handlers')
    try:
        # What could not be rebuilt in another attempt is refused in the first.
        text = write(returned, None if convert is None else to_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise NonRetryableError(
            f'the step "{name}" cannot be kept: {error}; a result is JSON, or the dataclass or pydantic model that '
            "the function is annotated with"
        ) from error
    return _restored(name, state.store.store(name, text), convert)


def _restored(name: str, value: Any, convert: Converter | None) -> Any:
    try:
        return value if convert is None else convert(value)
    except (TypeError, ValueError) as error:
        raise NonRetryableError(f'what the step "{name}" has stored does not fit: {error}') from error


def _converter_of(run: Callable[..., Any]) -> Converter | None:
    while isinstance(run, functools.partial):
        run = run.func
    return converter(hints(run).get("return"))


def _in_place(state: DurableState, stored: Stored, name: str, time: Duration | datetime) -> float:
    """How long a sleep waits here and now: not at all if it is over. Raises Suspended if it is to hold no worker."""
    if isinstance(time, datetime):
        suspension = Suspension(name, until=instant(time))
        left = (time - datetime.now(timezone.utc)).total_seconds()
    else:
        suspension = Suspension(name, delay_secs=whole_seconds(time))
        left = seconds(time)
    known = stored.deadlines.get(name)
    if known is None and left < _IN_PLACE_SECS and left < state.left():
        return max(0.0, left)
    if known is None or not state.is_over(known):
        state.suspend(suspension)
    return 0.0


def _pause(state: DurableState, secs: float) -> None:
    """Raises why the handler is to stop, if it is told so meanwhile."""
    if state.stop.wait(secs) and state.stop.reason is not None:
        raise state.stop.reason


def _signal_wait(
    name: str, timeout: Duration, signal: str | None, key: str | None, ask: Ask | str | None
) -> Suspension:
    wait: dict[str, Any] = {"signal": {"name": name if signal is None else signal}}
    if key is not None:
        wait["signal"]["key"] = key
    if ask is not None:
        wait["ask"] = {"text": ask} if isinstance(ask, str) else ask
    return Suspension(name, delay_secs=whole_seconds(timeout), wait=wait)


def _ended_wait(state: DurableState, suspension: Suspension) -> Any:
    """What a wait has ended with. Raises Suspended if nothing has ended it yet."""
    name = suspension.checkpoint
    stored = state.load()
    if name in stored.values:
        return stored.values[name]
    deadline = stored.deadlines.get(name)
    if deadline is None or not state.is_over(deadline):
        state.suspend(suspension)
    # A signal may have been faster: the answer shows which of the two counts.
    return state.store.store(name, '{"timed_out":true}')


def _answer(name: str, ended: Any, schema: type[Any] | None) -> Any:
    """The value of a signal; None after the deadline."""
    if ended.get("timed_out") is True:
        return None
    convert = None if schema is None else converter(schema)
    try:
        return ended.get("value") if convert is None else convert(ended.get("value"))
    except (TypeError, ValueError) as error:
        raise NonRetryableError(f'the signal that "{name}" waited for is not valid: {error}') from error
