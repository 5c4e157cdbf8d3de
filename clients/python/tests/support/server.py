"""A real server for the tests: the repository's own, with `--dev`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[4]
PROGRAM = REPOSITORY / "packages" / "cli" / "bin" / "millrace.mjs"
# Ends a hang; nothing depends on it.
DEADLINE_SECS = 180.0


class DevServer:
    """`millrace --dev` on a free port, with a data directory of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="millrace-python-")
        flags = ["--dev", "--mode=api", "--host=127.0.0.1", "--api-port=0", "--metrics-port=0", "--log-format=json"]
        # The environment of the person who runs the tests must not decide which database they use.
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MILLRACE_", "DATABASE_URL", "PG"))
        }
        self._process = subprocess.Popen(
            ["node", str(PROGRAM), *flags, f"--data-dir={self._folder}/data"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        found: list[str] = []
        threading.Thread(target=self._read, args=(found,), daemon=True).start()
        try:
            until(lambda: found or self._process.poll() is not None, "the server listens")
            assert found, "\n".join(self._lines[-20:])
        except BaseException:
            self.stop()
            raise
        self.url = found[0]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(DEADLINE_SECS)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _read(self, found: list[str]) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines = [*self._lines[-20:], line]
            if '"msg":"listening"' in line:
                found.append(json.loads(line)["api"])


def until(condition: Callable[[], object], what: str) -> None:
    """Waits for a fact."""
    end = time.monotonic() + DEADLINE_SECS
    while not condition():
        assert time.monotonic() < end, f"waited in vain until {what}"
        time.sleep(0.02)
