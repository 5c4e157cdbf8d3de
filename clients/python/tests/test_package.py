"""What is published installs into an empty environment and works there, without anything else."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import millrace

from .support.server import REPOSITORY

HERE = REPOSITORY / "clients" / "python"
PROGRAM = """
import sys, millrace
from millrace import task, Worker
@task
def hello(name: str) -> dict[str, str]:
    return {"hello": name}
assert hello("x") == {"hello": "x"}
assert "site-packages" in millrace.__file__, millrace.__file__
print(millrace.__version__)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    # Without isolation: the tools of the tests include the builder.
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(HERE)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_wheel_and_source_hold_what_they_should(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    (source,) = built.glob("*.tar.gz")
    assert wheel.name == f"millrace_client-{millrace.__version__}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"millrace/__init__.py", "millrace/py.typed", "millrace/worker/worker.py"} <= names
    assert not [name for name in names if not name.startswith(("millrace/", "millrace_client-"))]
    with tarfile.open(source) as archive:
        assert any(name.endswith("src/millrace/py.typed") for name in archive.getnames())


def test_the_wheel_installs_into_an_empty_environment(built: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=False)
    (wheel,) = built.glob("*.whl")
    python = tmp_path / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = tmp_path / "lib" / version / "site-packages"
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", str(packages)]
    subprocess.run([*install, str(wheel)], check=True)
    said = subprocess.run([python, "-I", "-c", PROGRAM], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert said.stdout.strip() == millrace.__version__
    told = subprocess.run([python, "-m", "millrace", "worker", "--help"], check=True, capture_output=True, text=True)
    assert "MILLRACE_WORKER_TOKEN" in told.stdout
