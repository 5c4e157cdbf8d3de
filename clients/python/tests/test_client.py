"""The client against a real server."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pytest

from millrace import (
    AlreadyReplayedError,
    DeadLetterFilter,
    JobFailedError,
    JobFilter,
    Limit,
    Millrace,
    NonRetryableError,
    NotFoundError,
    Retries,
    task,
)

from .conftest import StartWorker
from .support.server import until


@dataclass
class Sum:
    total: int


@task
def add(a: int, b: int = 1) -> Sum:
    return Sum(a + b)


@task(retries=Retries(max=0))
def refuse(why: str) -> None:
    raise NonRetryableError(why)


def test_a_job_is_created_runs_and_is_waited_for(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(add, refuse, queues={queue: 4})
    assert add.using(queue=queue).enqueue(2, b=3).result() == Sum(5)
    handles = client.enqueue_many([add.using(queue=queue).call(n) for n in range(5)])
    assert client.wait_all(handles) == [Sum(n + 1) for n in range(5)]
    failed = refuse.using(queue=queue).enqueue("no such user")
    with pytest.raises(JobFailedError, match="no such user") as error:
        failed.result()
    assert error.value.job["status"] == "failed"
    with pytest.raises(JobFailedError):
        client.wait_all([failed])
    attempt = client.jobs.attempts(failed.id)["attempts"][0]
    details = attempt["error_details"] or {}
    assert details.get("name") == "NonRetryableError"
    assert "test_client.py" in (details.get("stack") or "")


def test_options_reach_the_server(client: Millrace, queue: str) -> None:
    at = datetime.now(timezone.utc) + timedelta(hours=1)
    retries = Retries(max=7, backoff="linear", delay=2, max_delay=timedelta(minutes=1), jitter=0)
    options = add.using(run_at=at, queue=queue, priority=5, retries=retries, timeout=9, metadata={"by": "test"})
    job = options.enqueue(1).get()
    assert job["payload"] == {"a": 1}
    assert job["metadata"] == {"by": "test"}
    assert job["config"] == {
        **{"priority": 5, "max_retries": 7, "retry_backoff": "linear", "retry_delay_secs": 2},
        **{"retry_max_delay_secs": 60, "jitter_factor": 0, "timeout_secs": 9},
    }
    due = datetime.fromisoformat(job["scheduled_at"].replace("Z", "+00:00"))
    assert abs((due - at).total_seconds()) < 1
    assert client.jobs.why(job["id"])["reason"] == "due_later"
    later = add.using(delay=600, queue=queue).enqueue(1).get()
    assert later["scheduled_at"] > later["created_at"]
    client.jobs.run_now(later["id"])
    assert client.jobs.get(later["id"])["scheduled_at"] < job["scheduled_at"]


def test_lists_are_read_page_by_page(client: Millrace, queue: str) -> None:
    created = client.enqueue_many([add.using(queue=queue).call(n) for n in range(130)])
    ids = [job["id"] for job in client.jobs.list(queue=queue, oldest_first=True)]
    assert sorted(ids) == sorted(job.id for job in created)
    assert len(list(client.jobs.list(queue=queue, task=add, status=["pending", "running"], limit=101))) == 101
    page = client.jobs.list(queue=queue, include_total=True, limit=5).page()
    assert (len(page["jobs"]), page["total"]) == (5, 130)
    found = {each["queue"]: each["pending"] for each in client.queues.list()}
    assert found[queue] == 130
    assert client.queues.get(queue)["by_task"][0]["task_name"] == "add"


def test_dead_letters_are_listed_grouped_and_replayed(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    start_worker(refuse, queues={queue: 4})
    jobs = client.enqueue_many([refuse.using(queue=queue).call(f"broken {queue}") for _ in range(3)])
    for job in jobs:
        with pytest.raises(JobFailedError):
            job.result()
    letters = list(client.dead_letters.list(queue=queue, task=refuse, replayed=False))
    assert {letter["job_id"] for letter in letters} == {job.id for job in jobs}
    assert client.dead_letters.get(letters[0]["id"])["reason"] == "non_retryable"
    (group,) = client.dead_letters.groups(queue=queue)
    assert group["count"] == 3
    replayed = client.dead_letters.replay(letters[0]["id"])
    assert replayed.get()["payload"] == {"why": f"broken {queue}"}
    with pytest.raises(AlreadyReplayedError):
        client.dead_letters.replay(letters[0]["id"])
    selected = DeadLetterFilter(queue=queue, replayed=False)
    assert client.operations.preview_replay_dead_letters(selected)["matched"]["n"] >= 2
    operation = client.operations.replay_dead_letters(selected)
    until(lambda: client.operations.get(operation["id"])["status"] == "completed", "the operation has ended")


def test_jobs_are_cancelled_in_bulk(client: Millrace, queue: str) -> None:
    jobs = client.enqueue_many([add.using(queue=queue).call(n) for n in range(3)])
    operation = client.operations.cancel_jobs(JobFilter(queue=queue, status="pending"), key=f"bulk-{queue}")
    until(lambda: client.operations.get(operation["id"])["status"] == "completed", "the operation has ended")
    assert {job.get()["status"] for job in jobs} == {"cancelled"}
    assert operation["id"] in [each["id"] for each in client.operations.list()]


def test_jobs_are_made_due_and_created_anew_in_bulk(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    later = add.using(queue=queue, delay=3600, metadata={"source": "signup"}).enqueue(1)
    other = add.using(queue=queue, delay=3600, metadata={"source": "import"}).enqueue(2)
    start_worker(add, refuse, queues={queue: 4})
    due = JobFilter(queue=queue, metadata={"source": "signup"})
    assert client.operations.preview_run_jobs_now(due)["matched"] == {"n": 1, "exact": True}
    client.operations.run_jobs_now(due, key=f"due-{queue}")
    later.result()
    assert other.get()["status"] == "pending"

    broken = refuse.using(queue=queue).enqueue(f"Broken {queue}")
    with pytest.raises(JobFailedError):
        broken.result()
    anew = JobFilter(queue=queue, error="broken")
    assert [each["id"] for each in client.operations.preview_rerun_jobs(anew)["sample"]] == [broken.id]
    operation = client.operations.rerun_jobs(anew)
    until(lambda: client.operations.get(operation["id"])["status"] == "completed", "the operation has ended")
    assert len(list(client.jobs.list(queue=queue, metadata={"rerun_of": broken.id}))) == 1


def test_schedules_are_known_by_name(client: Millrace, queue: str) -> None:
    name = f"nightly-{queue}"
    made = client.schedules.put(name, "30 3 * * *", add.using(queue=queue).call(a=0), timezone="Europe/Berlin")
    assert (made["name"], made["timezone"], made["payload"]) == (name, "Europe/Berlin", {"a": 0})
    again = client.schedules.put(name, "@hourly", add.using(queue=queue).call(a=1))
    assert again["id"] == made["id"]
    assert len(client.schedules.next(name, 3)) == 3
    client.schedules.pause(name)
    client.schedules.resume(name)
    job = client.schedules.trigger(name)
    assert job.get()["payload"] == {"a": 1}
    assert [firing["job_id"] for firing in client.schedules.firings(name)] == [job.id]
    assert name in [each["name"] for each in client.schedules.list(next_first=True)]
    client.schedules.delete(name)
    with pytest.raises(NotFoundError):
        client.schedules.get(name)
    assert len(client.schedules.preview("0 0 * * *")) > 0


def test_a_key_runs_as_many_jobs_as_its_limit_says(client: Millrace, start_worker: StartWorker, queue: str) -> None:
    running: list[int] = []
    most: list[int] = []

    @task(queue=queue, limits=[Limit("user-{user_id}", running=1)])
    def export(user_id: int) -> None:
        running.append(user_id)
        most.append(running.count(user_id))
        time.sleep(0.02)
        running.remove(user_id)

    jobs = client.enqueue_many([export.call(n % 2) for n in range(12)])
    (first, second) = client.queues.limits(queue)
    assert (first["key"], first["limit"], first["running"]) == ("user-0", 1, 1)
    assert second["waiting"] == 5
    start_worker(export, queues={queue: 8})
    client.wait_all(jobs)
    assert max(most) == 1
