"""The quick half of the conformance kit. All of it: `npm run conformance -- -- python3 tests/conformance_worker.py`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .support.server import REPOSITORY, DevServer

KIT = REPOSITORY / "packages" / "conformance" / "bin" / "millrace-conformance.mjs"
WORKER = REPOSITORY / "clients" / "python" / "tests" / "conformance_worker.py"
QUICK = "1,2,3,4,6,11,13,14,17,18,20,21,22,24,25,27,30,32,35,36,38,39,40,41,42,43"


@pytest.mark.parametrize("protocol", [[], ["--plain"]], ids=["gathered", "plain"])
def test_the_worker_conforms(server: DevServer, protocol: list[str]) -> None:
    chosen = ["--only", QUICK if not protocol else "3,11,14,17,27"]
    command = ["node", str(KIT), *chosen, *protocol, "--url", server.url, "--", sys.executable, str(WORKER)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
