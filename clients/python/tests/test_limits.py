"""Limits, unique jobs and expiry, on the fake server and on the real one."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from millrace import InvalidRequestError, Limit, Millrace, Rate, Unique, task
from millrace.testing import FakeServer

from .conftest import Stage, StartWorker
from .support.server import DEADLINE_SECS, until

pytest_plugins = ["millrace.testing.plugin"]


@pytest.fixture(params=["fake", "real"])
def stage(request: pytest.FixtureRequest) -> Stage:
    if request.param == "fake":
        return {"url": "http://millrace.test", "exchange": FakeServer()}
    return {"url": request.getfixturevalue("server").url}


@task
def note(n: int) -> None: ...


def test_no_more_jobs_of_a_key_run_than_it_says_and_others_pass_them(
    client: Millrace, start_worker: StartWorker, queue: str
) -> None:
    go_on = threading.Event()
    running: list[int] = []
    most: list[int] = []

    @task(queue=queue)
    def hold(n: int) -> None:
        running.append(n)
        most.append(len(running))
        go_on.wait(DEADLINE_SECS)
        running.remove(n)

    limited = hold.using(limits=[Limit("k", running=1)])
    jobs = client.enqueue_many([limited.call(n) for n in range(3)])
    other = note.using(queue=queue).enqueue(1)
    start_worker(hold, note, queues={queue: 4})
    other.result()
    until(lambda: running != [], "one of them runs")
    go_on.set()
    client.wait_all(jobs)
    assert most == [1, 1, 1]


def test_a_job_with_two_limits_waits_for_both(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    go_on = threading.Event()

    @task(queue=queue)
    def hold() -> None:
        go_on.wait(DEADLINE_SECS)

    first = hold.using(limits=[Limit("x", running=1)]).enqueue()
    second = note.using(queue=queue, limits=[Limit("y", running=1), Limit("x", running=1)]).enqueue(1)
    other = note.using(queue=queue, limits=[Limit("y", running=1)]).enqueue(2)
    start_worker(hold, note, queues={queue: 4})
    other.result()
    assert second.get()["status"] == "pending"
    go_on.set()
    first.result()
    second.result()


@pytest.mark.parametrize("during", ["waiting", "unfinished"])
def test_a_call_gets_the_job_of_its_unique_key(
    client: Millrace, start_worker: StartWorker, queue: str, during: Any
) -> None:
    go_on = threading.Event()

    @task(queue=queue, unique=Unique("k", during=during))
    def hold(n: int) -> None:
        go_on.wait(DEADLINE_SECS)

    first = hold.enqueue(1)
    assert hold.enqueue(2).id == first.id
    assert {each.id for each in client.enqueue_many([hold.call(3), hold.call(4)])} == {first.id}
    running = start_worker(hold, queues={queue: 1})
    until(lambda: first.get()["status"] == "running", "it runs")
    assert (hold.enqueue(5).id == first.id) == (during == "unfinished")
    assert first.get()["payload"] == {"n": 1}
    go_on.set()
    first.result()
    running.stop()
    assert hold.using(unique=Unique("k", during="unfinished")).enqueue(6).id != first.id


IN_A_YEAR = datetime.now(timezone.utc) + timedelta(days=365)


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"expires": IN_A_YEAR, "run_at": IN_A_YEAR}, "config.expires_at"),
        ({"expires": 60, "delay": 60}, "config.expires_secs"),
        ({"unique": Unique("k", "unfinished", "replace")}, "config.unique.on_conflict"),
        ({"unique": Unique("k", max_wait=9)}, "config.unique.max_wait_secs"),
        ({"unique": Unique("x" * 201)}, "config.unique.key"),
        ({"limits": [Limit("x" * 201, running=1)]}, r"config.limits\[0\].key"),
        ({"limits": [Limit("x", running=1)] * 3}, "config.limits"),
        ({"limits": [Limit("x", running=10_001)]}, r"config.limits\[0\].running"),
    ],
)
@pytest.mark.usefixtures("client")
def test_what_makes_no_sense_is_refused(queue: str, options: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidRequestError, match=path):
        note.using(queue=queue, **options).enqueue(1)


class TestTheClockOfTheFakeServer:
    def test_a_replaced_job_is_put_off_but_not_for_ever(self, fake_millrace: FakeServer) -> None:
        debounced = note.using(delay=60, unique=Unique("d", on_conflict="replace", max_wait=90))
        job = debounced.enqueue(1)
        fake_millrace.advance(45)
        assert debounced.enqueue(2).id == job.id
        fake_millrace.advance(40)
        assert debounced.enqueue(3).id == job.id
        fake_millrace.drain(note)
        assert job.get()["status"] == "pending"
        fake_millrace.advance(6)
        fake_millrace.drain(note)
        assert (job.get()["status"], job.get()["payload"]) == ("completed", {"n": 3})

    def test_a_job_that_nobody_began_in_time_is_cancelled(self, fake_millrace: FakeServer) -> None:
        late, in_time = note.using(expires=60).enqueue(1), note.using(expires=600).enqueue(2)
        fake_millrace.advance(60)
        fake_millrace.drain(note)
        assert (late.get()["status"], late.get()["error_message"]) == ("cancelled", "expired before it started")
        assert (late.get()["delivery_count"], in_time.get()["status"]) == (0, "completed")

    def test_a_rate_lets_jobs_start_evenly(self, fake_millrace: FakeServer) -> None:
        rated = note.using(limits=[Limit("r", rate=Rate(2, per=60, burst=2))])
        jobs = [rated.enqueue(n) for n in range(5)]

        def completed() -> int:
            fake_millrace.drain(note)
            return len([job for job in jobs if job.get()["status"] == "completed"])

        assert completed() == 2
        fake_millrace.advance(29)
        assert completed() == 2
        fake_millrace.advance(1)
        assert completed() == 3
        fake_millrace.advance(3600)
        assert completed() == 5
