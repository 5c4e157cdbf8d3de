"""Starts a worker again when a source file changes: for development."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_LOOK_SECS = 0.5


def run_and_reload(command: Sequence[str], modules: Sequence[str]) -> int:
    """Runs the command until a signal; whenever a source file changes, it is stopped and started again."""
    folders = _folders(modules)
    stopping = False

    def stop(number: int, _: object) -> None:
        nonlocal stopping
        stopping = True
        child.send_signal(number)

    child = _start(command)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    seen = _times(folders)
    while True:
        try:
            code = child.wait(_LOOK_SECS)
        except subprocess.TimeoutExpired:
            now = _times(folders)
            if now == seen or stopping:
                continue
            seen = now
            print("millrace: a source file has changed; starting again", file=sys.stderr)
            child.send_signal(signal.SIGTERM)
            child.wait()
            child = _start(command)
            continue
        if stopping:
            return code
        # It ended by itself, most likely on an error in the source: wait for the next change.
        print(f"millrace: the worker ended with code {code}; waiting for a change", file=sys.stderr)
        while not stopping and _times(folders) == seen:
            time.sleep(_LOOK_SECS)
        if stopping:
            return code
        seen = _times(folders)
        child = _start(command)


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    # In a group of its own: a Ctrl-C reaches it once, through us.
    return subprocess.Popen(command, env={**os.environ, "MILLRACE_RELOADED": "1"}, start_new_session=True)


def _folders(modules: Sequence[str]) -> list[Path]:
    """The working directory, and where the packages of the modules are."""
    sys.path.insert(0, os.getcwd())
    folders = {Path.cwd()}
    for name in modules:
        found = importlib.util.find_spec(name.split(".", 1)[0])
        if found is not None and found.origin is not None:
            folders.add(Path(found.origin).resolve().parent)
    return sorted(folders)


def _times(folders: Sequence[Path]) -> dict[Path, int]:
    times: dict[Path, int] = {}
    for folder in folders:
        for parent, names, files in os.walk(folder):
            # Environments, caches and packages of other languages hold thousands of files that nobody edits.
            names[:] = [name for name in names if not name.startswith((".", "_")) and name not in _LEFT_OUT]
            for name in files:
                if name.endswith(".py"):
                    path = Path(parent, name)
                    try:
                        times[path] = path.stat().st_mtime_ns
                    except OSError:
                        continue
    return times


_LEFT_OUT = frozenset({"node_modules", "site-packages", "venv", "env", "build", "dist"})
