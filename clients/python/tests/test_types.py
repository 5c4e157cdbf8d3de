"""What must not type-check does not, with either checker, and with nothing else refused."""

from __future__ import annotations

import json
import subprocess
import sys

from .support.server import REPOSITORY

HERE = REPOSITORY / "clients" / "python"
NEGATIVE = HERE / "tests" / "types" / "negative.py"


def expected() -> set[int]:
    lines = NEGATIVE.read_text("utf-8").splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}


def test_mypy_refuses_each_of_them() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", str(NEGATIVE)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in checked.stdout.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in errors} == expected(), checked.stdout


def test_pyright_refuses_each_of_them() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(NEGATIVE.parent)],
        cwd=HERE,
        capture_output=True,
        text=True,
        check=False,
    )
    found = [each for each in json.loads(checked.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    assert {each["range"]["start"]["line"] + 1 for each in found} == expected(), found
