"""Who keeps leases alive: a process of its own, or a thread (docs/adr)."""

from __future__ import annotations

import json
import logging
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ..calls.calls import AssumedFeatures, Connection
from .beat_loop import BeatLoop, HeldLease
from .heartbeat_calls import HeartbeatCalls

_START_SECS = 30.0
_PIECE = 1 << 16
# Neither the working directory nor PYTHONPATH may put another module in the place of one that the keeper needs (-I).
# The package's own __init__ is passed over: it brings the client and the worker, a quarter of a second and 8 MB.
_PROGRAM = """
import sys, types
package = types.ModuleType("millrace")
package.__path__ = [sys.argv[1]]
sys.modules["millrace"] = package
from millrace.worker.leases.keeper_process import main
main()
"""


@dataclass(frozen=True)
class KeeperOptions:
    connection: Connection
    features: AssumedFeatures
    lease_secs: int
    #: These leases hold until this instant.
    on_extended: Callable[[list[int], float], None]
    #: A heartbeat was answered with something else than `running`.
    on_lost: Callable[[int, str], None]
    logger: logging.Logger


class Keeper(Protocol):
    """Keeps leases alive from the moment that it is told of them."""

    def hold(self, leases: Sequence[HeldLease], due: float) -> None: ...
    def drop(self, numbers: Sequence[int]) -> None: ...
    def progress(self, number: int, value: Mapping[str, Any]) -> None: ...
    def pulse(self) -> None: ...
    def catch_up(self) -> None:
        """Hears at once what it has to say."""
        ...

    def close(self) -> None: ...


class ThreadKeeper:
    """In a thread beside the handlers: a handler that holds the interpreter's lock for a lease loses its job."""

    def __init__(self, options: KeeperOptions) -> None:
        calls = HeartbeatCalls(options.connection.open(), options.features, options.lease_secs)
        self._loop = BeatLoop(options.lease_secs, calls.send, options.on_extended, options.on_lost)
        threading.Thread(target=self._loop.run, name="millrace-keeper", daemon=True).start()

    def hold(self, leases: Sequence[HeldLease], due: float) -> None:
        self._loop.hold(leases, due)

    def drop(self, numbers: Sequence[int]) -> None:
        self._loop.drop(numbers)

    def progress(self, number: int, value: Mapping[str, Any]) -> None:
        self._loop.progress(number, value)

    def pulse(self) -> None:
        self._loop.pulse()

    def catch_up(self) -> None:
        pass

    def close(self) -> None:
        self._loop.stop()


class ProcessKeeper:
    """In a process of its own, which nothing that a handler does can hold up.

    It is told of leases line by line, and says line by line what became of them. If it dies, the leases are kept by a
    thread from then on.
    """

    def __init__(self, options: KeeperOptions) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._telling = threading.Lock()
        self._held: dict[int, HeldLease] = {}
        self._fallback: ThreadKeeper | None = None
        self._closed = False
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _PROGRAM, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to = self._process.stdin
        self._from = self._process.stdout.fileno()
        os.set_blocking(self._from, False)
        self._reading = threading.Lock()
        self._unread = b""
        self._ready = threading.Event()
        connection = options.connection
        # By pipe: others can read a program's arguments and variables.
        self._tell({"url": connection.url, "token": connection.token, "lease_secs": options.lease_secs})
        threading.Thread(target=self._listen, name="millrace-keeper", daemon=True).start()

    def wait_until_ready(self) -> None:
        if not self._ready.wait(_START_SECS):
            self._process.kill()

    def hold(self, leases: Sequence[HeldLease], due: float) -> None:
        with self._lock:
            self._held.update({lease.number: lease for lease in leases})
            if self._fallback is not None:
                self._fallback.hold(leases, due)
                return
        self._tell({"hold": leases, "due": due})

    def drop(self, numbers: Sequence[int]) -> None:
        with self._lock:
            for number in numbers:
                self._held.pop(number, None)
            if self._fallback is not None:
                self._fallback.drop(numbers)
                return
        self._tell({"drop": numbers})

    def progress(self, number: int, value: Mapping[str, Any]) -> None:
        if self._fallback is not None:
            self._fallback.progress(number, value)
        else:
            self._tell({"progress": number, "value": value})

    def pulse(self) -> None:
        if self._fallback is not None:
            self._fallback.pulse()
        else:
            self._tell({"pulse": True})

    def catch_up(self) -> None:
        self._read()

    def close(self) -> None:
        self._closed = True
        if self._fallback is not None:
            self._fallback.close()
        try:
            self._to.close()  # the end of its input is the end of the keeper
        except OSError:
            pass
        try:
            self._process.wait(1)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, message: Mapping[str, Any]) -> None:
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        try:
            with self._telling:
                self._to.write(line)
                self._to.flush()
        except (OSError, ValueError):
            pass  # the listener notices that it is gone

    def _listen(self) -> None:
        waiting = select.poll()
        waiting.register(self._from, select.POLLIN)
        while True:
            waiting.poll()
            if not self._read():
                break
        if not self._closed:
            self._fall_back()
        self._ready.set()

    def _read(self) -> bool:
        """Handles what has been said so far. False at the end."""
        with self._reading:
            while True:
                try:
                    piece = os.read(self._from, _PIECE)
                except BlockingIOError:
                    return True
                except OSError:
                    return False
                if piece == b"":
                    return False
                *lines, self._unread = (self._unread + piece).split(b"\n")
                for line in lines:
                    self._hear(json.loads(line))

    def _hear(self, said: Mapping[str, Any]) -> None:
        if "extended" in said:
            self._options.on_extended(said["extended"], said["until"])
        elif "lost" in said:
            with self._lock:
                self._held.pop(said["lost"], None)
            self._options.on_lost(said["lost"], said["answer"])
        else:
            self._ready.set()

    def _fall_back(self) -> None:
        code = self._process.wait()
        self._options.logger.warning(
            "the process that sends heartbeats ended with code %s; a handler that holds the interpreter's lock for a "
            "lease loses its job from now on",
            code,
        )
        with self._lock:
            self._fallback = ThreadKeeper(self._options)
            self._fallback.hold(list(self._held.values()), time.monotonic())


def start_keeper(kind: str, options: KeeperOptions) -> Keeper:
    """`process` or `thread`. A process that cannot be started is replaced by a thread."""
    if kind == "thread":
        return ThreadKeeper(options)
    try:
        keeper = ProcessKeeper(options)
    except OSError as error:
        options.logger.warning("no process of its own for heartbeats (%s)", error)
        return ThreadKeeper(options)
    keeper.wait_until_ready()
    return keeper
