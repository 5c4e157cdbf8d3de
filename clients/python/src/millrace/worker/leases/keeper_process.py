"""The keeper's process: heartbeats go out whatever the handlers do to theirs.

It reads lines of JSON from its standard input and ends with it, so that it never outlives the worker.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
from typing import Any

from ..calls.calls import AssumedFeatures, Connection
from .beat_loop import BeatLoop, HeldLease
from .heartbeat_calls import HeartbeatCalls


def main() -> None:
    # Signals to the whole group are the worker's business; heartbeats outlive them.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = os.getppid()
    settings = json.loads(sys.stdin.buffer.readline())
    silent = logging.getLogger("millrace.keeper")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    saying = threading.Lock()

    def say(message: dict[str, Any]) -> None:
        try:
            with saying:
                sys.stdout.buffer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")
                sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)  # nobody listens any more

    transport = Connection(settings["url"], settings["token"], silent).open()
    # Finds out by itself what the server knows: the routes answer 404 if they are not there.
    calls = HeartbeatCalls(transport, AssumedFeatures(), settings["lease_secs"])

    def send(beats: Any, timeout: float) -> list[str]:
        # A copy of the worker's process may hold the pipe open after the worker itself was killed.
        if os.getppid() != parent:
            os._exit(0)
        return calls.send(beats, timeout)

    loop = BeatLoop(
        settings["lease_secs"],
        send,
        lambda numbers, until: say({"extended": numbers, "until": until}),
        lambda number, answer: say({"lost": number, "answer": answer}),
    )
    threading.Thread(target=loop.run, daemon=True).start()
    say({"ready": True})
    for line in sys.stdin.buffer:
        _do(loop, json.loads(line))
    os._exit(0)


def _do(loop: BeatLoop, message: dict[str, Any]) -> None:
    # A worker that talks is alive.
    loop.pulse()
    if "hold" in message:
        loop.hold([HeldLease(*lease) for lease in message["hold"]], message["due"])
    elif "drop" in message:
        loop.drop(message["drop"])
    elif "progress" in message:
        loop.progress(message["progress"], message["value"])
