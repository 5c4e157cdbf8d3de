"""`python -m millrace worker`, started and stopped as an operator does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import millrace
from millrace import Millrace
from millrace.commands.main import run

from .support.load_tasks import brief, endless, signals_itself
from .support.pool_tasks import talk
from .support.server import DEADLINE_SECS, REPOSITORY, DevServer, until

HERE = REPOSITORY / "clients" / "python"
Program = subprocess.Popen[str]
Start = Callable[..., Program]


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    file = tmp_path / "noted"
    file.touch()
    return file


@pytest.fixture
def start(server: DevServer, queue: str, noted: Path) -> Iterator[Start]:
    started: list[Program] = []

    def begin(*arguments: str, cwd: Path = HERE, **more: str) -> Program:
        environment = {**os.environ, "MILLRACE_URL": server.url, "TEST_QUEUE": queue, "TEST_FILE": str(noted), **more}
        command = [sys.executable, "-m", "millrace", "worker", *arguments]
        process = subprocess.Popen(command, cwd=cwd, env=environment, stderr=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def lines(file: Path) -> list[str]:
    return file.read_text().split()


def test_a_stop_under_load_loses_nothing_and_repeats_nothing(
    client: Millrace, start: Start, queue: str, noted: Path
) -> None:
    jobs = client.enqueue_many([brief.using(queue=queue).call(stops=n == 50) for n in range(400)])
    first = start("tests.support.load_tasks", "--queue", f"{queue}=20")
    _, said = first.communicate(timeout=DEADLINE_SECS)
    assert first.returncode == 0, said
    begun = set(lines(noted))
    assert 50 < len(begun) < 400, "it was stopped in the middle"
    assert {job["id"] for job in client.jobs.list(queue=queue, status="completed")} == begun
    start("tests.support.load_tasks", "--queue", f"{queue}=20")
    client.wait_all(jobs, timeout=DEADLINE_SECS)
    assert Counter(lines(noted)) == Counter(job.id for job in jobs)


def test_lines_of_handlers_stay_here_if_that_is_wanted(client: Millrace, start: Start, queue: str) -> None:
    process = start("tests.support.pool_tasks", "-q", f"{queue}=1", "--logs", "local")
    job = talk.using(queue=queue).enqueue("not for everybody")
    job.result()
    assert client.jobs.logs(job.id)["lines"] == []
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=DEADLINE_SECS)
    assert process.returncode == 0, said


def test_a_second_signal_gives_everything_back_at_once(client: Millrace, start: Start, queue: str, noted: Path) -> None:
    job = endless.using(queue=queue).enqueue()
    process = start("tests.support.load_tasks", "-q", f"{queue}=1", "--shutdown", "600")
    until(lambda: lines(noted) == ["started"], "the handler runs")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=DEADLINE_SECS)
    assert process.returncode == 0, said
    # It has not waited long for the answer to what it gave back.
    until(lambda: job.get()["status"] == "pending", "the job is given back")
    assert job.get()["retry_count"] == 0


def test_a_signal_counts_whatever_thread_it_comes_to(client: Millrace, start: Start, queue: str) -> None:
    job = signals_itself.using(queue=queue).enqueue()
    process = start("tests.support.load_tasks", "-q", f"{queue}=1", "--shutdown", "1")
    _, said = process.communicate(timeout=DEADLINE_SECS)
    assert process.returncode == 0, said
    # It has not waited long for the answer to what it gave back.
    until(lambda: job.get()["status"] == "pending", "the job is given back")


def test_a_changed_file_starts_it_again(
    client: Millrace, start: Start, queue: str, noted: Path, tmp_path: Path
) -> None:
    source = tmp_path / "app_tasks.py"
    head = "import os\nfrom millrace import task\n"
    text = head + "@task(queue=os.environ['TEST_QUEUE'])\ndef say() -> dict:\n    return {}\n"
    source.write_text(text.replace("{}", "{'version': 1}"))
    process = start("app_tasks", "--reload", "--shutdown", "1", cwd=tmp_path, PYTHONPATH=str(HERE / "src"))

    from millrace import task

    @task(queue=queue)
    def say() -> dict[str, int]:
        return {}

    assert say.enqueue().result() == {"version": 1}
    source.write_text(text.replace("{}", "{'version': 22}"))
    os.utime(source, ns=(1, 1))

    def is_new() -> bool:
        return say.enqueue().result() == {"version": 22}

    until(is_new, "the new code runs")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=DEADLINE_SECS)
    assert process.returncode == 0


def test_usage(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["worker", "json"]) == 2
    assert "no task in json" in capsys.readouterr().err
    for wrong in (["worker"], ["worker", "x", "--queue", "a=b"], ["worker", "x", "--logs", "all"], ["nothing"]):
        with pytest.raises(SystemExit) as refused:
            run(wrong)
        assert refused.value.code == 2
    with pytest.raises(SystemExit) as told:
        run(["--version"])
    assert (told.value.code, capsys.readouterr().out.strip()) == (0, millrace.__version__)
    monkeypatch.setenv("TEST_FILE", "")
    assert run(["worker", "tests.support.load_tasks", "--queue", "a=0"]) == 2
    assert "slots" in capsys.readouterr().err
