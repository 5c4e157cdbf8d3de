"""Jobs, dead letters and queues of the fake server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ...shared.uuid7 import uuid7
from ...wire.types import CreateJob, CreateJobBatch, ReplayRequest, WaitRequest
from .exchange import FakeRequest, Reply, Route, once, page, same
from .logs import has_more, log_page
from .new_job import Added, add_job
from .problem import Problem, invalid, not_found
from .settle import cancel
from .shapes import checked
from .store import Store, StoredJob


def _create(request: FakeRequest) -> Reply:
    body = checked(request.body, CreateJob)
    found: list[Added] = []

    def make(key: str | None) -> Any:
        found.append(add_job(request.store, body, key))
        return {"job_id": found[0].id}

    status, answer = once(request, "job", make)
    return (200 if any(each.existing for each in found) else status), answer


def _create_batch(request: FakeRequest) -> Reply:
    jobs = checked(request.body, CreateJobBatch)["jobs"]
    if not 1 <= len(jobs) <= 1000:
        raise invalid("a batch has 1 to 1000 jobs")
    if any(job.get("idempotency_key") for job in jobs):
        return _create_items(request, jobs)

    def make(_: str | None) -> Any:
        added = [add_job(request.store, job, None) for job in jobs]
        return {"job_ids": [each.id for each in added], "count": len(added), **_existing(jobs, added)}

    return once(request, "batch", make)


def _create_items(request: FakeRequest, jobs: list[dict[str, Any]]) -> Reply:
    """A batch whose jobs have keys of their own: nothing is created if one of them is of another kind."""
    keys = request.store.keys
    if request.key is not None:
        raise invalid("idempotency_key must not be given together with the header Idempotency-Key")
    if any(keys.get(job.get("idempotency_key") or "", ("job",))[0] != "job" for job in jobs):
        raise Problem(409, "conflict", "a key was used for another kind of request")
    added: list[Added] = []
    replayed: list[int] = []
    for number, job in enumerate(jobs):
        key = job.get("idempotency_key") or uuid7()
        if key in keys:
            replayed.append(number)
            added.append(Added(keys[key][1]["job_id"], False))
        else:
            added.append(add_job(request.store, job, key))
            keys[key] = ("job", {"job_id": added[-1].id})
    ids = [each.id for each in added]
    return 201, {"job_ids": ids, "count": len(ids), "replayed": replayed, **_existing(jobs, added)}


def _existing(jobs: list[dict[str, Any]], added: list[Added]) -> dict[str, Any]:
    """The positions of unique jobs that were there."""
    if all((job.get("config") or {}).get("unique") is None for job in jobs):
        return {}
    return {"existing": [number for number, each in enumerate(added) if each.existing]}


def job_at(request: FakeRequest) -> StoredJob:
    job = request.store.jobs.get(request.params[0])
    if job is None:
        raise not_found("job")
    return job


def _get(request: FakeRequest) -> Reply:
    job = job_at(request)
    secs = min(int(request.query.get("wait_secs", "0")), 30)
    request.store.wait(lambda: job.has_ended, secs, request.timeout, request.line)
    return 200, job.record


def _logs(request: FakeRequest) -> Reply:
    job, attempt, after = job_at(request), request.query.get("attempt"), request.query.get("after")
    secs = min(int(request.query.get("wait_secs", "0")), 30)
    request.store.wait(lambda: has_more(job, attempt, after), secs, request.timeout, request.line)
    return 200, log_page(job, attempt, after)


_METADATA = "metadata."


def _has_error(job: Mapping[str, Any], text: str) -> bool:
    return job["status"] in ("failed", "retrying") and text.lower() in (job["error_message"] or "").lower()


def _is_due(store: Store) -> Callable[[Mapping[str, Any], str], bool]:
    def matches(job: Mapping[str, Any], value: str) -> bool:
        waiting = store.jobs[job["id"]]
        return waiting.waits and (waiting.due_at <= store.clock.now) == (value == "true")

    return matches


def _has_metadata(name: str) -> Callable[[Mapping[str, Any], str], bool]:
    field = name.removeprefix(_METADATA)

    def matches(job: Mapping[str, Any], value: str) -> bool:
        found = job["metadata"].get(field)
        return field in job["metadata"] and (found if isinstance(found, str) else json.dumps(found)) == value

    return matches


def _list(request: FakeRequest) -> Reply:
    records = [job.record for job in request.store.jobs.values()]
    filters = {
        "status": lambda job, value: job["status"] in value.split(","),
        "queue": same("queue_name"),
        "due": _is_due(request.store),
        "task": same("task_name"),
        "error": _has_error,
        **{name: _has_metadata(name) for name in request.query if name.startswith(_METADATA)},
        "workflow_id": same("workflow_id"),
        "parent_job_id": lambda job, value: job.get("parent_job_id") == value,
        "idempotency_key": same("idempotency_key"),
    }
    return page(request, "jobs", records, filters)


def _cancel(request: FakeRequest) -> Reply:
    job = job_at(request)
    if job.has_ended:
        raise Problem(409, "already_finished", f"the job is {job.record['status']} already")
    cancel(request.store, job)
    return 204, None


def _run_now(request: FakeRequest) -> Reply:
    job, store = job_at(request), request.store
    status = job.record["status"]
    if job.has_ended:
        raise Problem(409, "already_finished", f"the job is {status} already")
    if status == "running":
        raise Problem(409, "conflict", "the job is running")
    for wait in job.open_waits:
        if wait.signal is not None or wait.children is not None:
            what = "a signal" if wait.children is None else "children"
            raise Problem(409, "conflict", f"the job waits for {what}")
        wait.until = store.clock.now
    job.due_at = store.clock.now
    now = store.clock.text()
    store.change(job, scheduled_at=now, next_retry_at=now if status == "retrying" else None)
    return 204, None


def _copy(store: Store, job: StoredJob, kept: bool | list[str] | None, **origin: Any) -> str:
    """A fresh job like another one, which its metadata names, with those of its checkpoints that are to be kept."""
    record = job.record
    fields = {name: record[name] for name in ("task_name", "queue_name", "payload")}
    metadata = {name: value for name, value in record["metadata"].items() if name != "kept_checkpoints"}
    # So the worker knows that there is something to read at the first delivery.
    mark = {"kept_checkpoints": True} if kept else {}
    given = {**fields, "metadata": {**metadata, **origin, **mark}}
    config = {name: value for name, value in record["config"].items() if name not in ("expires_at", "unique")}
    copied = store.add_job(given, config, store.clock.now)
    if kept:
        names = job.checkpoints if kept is True else [name for name in job.checkpoints if name in kept]
        copied.checkpoints = {name: job.checkpoints[name] for name in names}
    return str(copied.record["id"])


def _kept(request: FakeRequest) -> bool | list[str] | None:
    kept: bool | list[str] | None = checked(request.body or {}, ReplayRequest).get("keep_checkpoints")
    return kept


def _rerun(request: FakeRequest) -> Reply:
    job, kept = job_at(request), _kept(request)
    return once(request, "rerun", lambda _: {"job_id": _copy(request.store, job, kept, rerun_of=job.record["id"])})


def _wait(request: FakeRequest) -> Reply:
    given, store = checked(request.body, WaitRequest), request.store
    ids = list(dict.fromkeys(given["job_ids"]))

    def has_ended(job_id: str) -> bool:
        return job_id not in store.jobs or store.jobs[job_id].has_ended

    enough = any if given.get("until") == "any" else all
    secs = min(given.get("wait_secs") or 0, 30)
    store.wait(lambda: enough(map(has_ended, ids)), secs, request.timeout, request.line)
    known = [store.jobs[each] for each in ids if each in store.jobs]
    return 200, {
        "ended": [{"id": job.record["id"], "status": job.record["status"]} for job in known if job.has_ended],
        "pending": [job.record["id"] for job in known if not job.has_ended],
        "missing": [each for each in ids if each not in store.jobs],
    }


def _letter(request: FakeRequest) -> dict[str, Any]:
    found = [letter for letter in request.store.letters if str(letter["id"]) == request.params[0]]
    if not found:
        raise not_found("dead letter")
    return found[0]


def _groups(_: FakeRequest) -> Reply:
    raise invalid("FakeServer does not know groups of dead letters; use a real server for that")


def _letters(request: FakeRequest) -> Reply:
    fields = ("queue_name", "task_name", "reason", "job_id", "fingerprint")
    filters: Any = {
        **{field: same(field) for field in fields},
        "replayed": lambda letter, value: (letter["replayed_at"] is not None) == (value == "true"),
    }
    return page(request, "dead_letters", request.store.letters, filters)


def _replay(request: FakeRequest) -> Reply:
    store, letter, kept = request.store, _letter(request), _kept(request)

    def make(_: str | None) -> Any:
        if letter["replayed_at"] is not None:
            raise Problem(409, "already_replayed", "the dead letter was replayed already")
        job, letter_id = store.jobs[letter["job_id"]], letter["id"]
        job_id = _copy(store, job, kept, replayed_from_job=job.record["id"], replayed_from_dead_letter=letter_id)
        store.letters[store.letters.index(letter)] = {
            **letter,
            "replayed_at": store.clock.text(),
            "replay_job_id": job_id,
        }
        return {"job_id": job_id}

    return once(request, "replay", make)


def _queues(request: FakeRequest) -> Reply:
    store = request.store
    going_on = [job for job in store.jobs.values() if not job.has_ended]
    rows: list[dict[str, Any]] = []
    listed = store.jobs.values() if request.query.get("idle") == "true" else going_on
    for name in sorted({job.record["queue_name"] for job in listed}):
        own = [job for job in going_on if job.record["queue_name"] == name]
        waiting = [job for job in own if job.waits]
        due = [job for job in waiting if job.due_at <= store.clock.now]
        again = [job for job in waiting if job.record["status"] == "retrying"]
        oldest = None if not due else (store.clock.now - min(job.due_at for job in due)) // 1_000_000
        rows.append(
            {
                "queue": name,
                "pending": len(due),
                "scheduled": len(waiting) - len(due),
                "running": len(own) - len(waiting),
                "retrying": len(again),
                "retrying_later": len([job for job in again if job not in due]),
                "oldest_pending_age_secs": oldest,
                "paused_at": None,
                "paused_reason": None,
                "paused_by": None,
                "last_lease_at": None,
            }
        )
    return 200, {"queues": rows}


JOB_ROUTES: list[tuple[str, str, Route]] = [
    ("POST", "/jobs", _create),
    ("POST", "/jobs/batch", _create_batch),
    ("POST", "/jobs/wait", _wait),
    ("GET", "/jobs", _list),
    ("GET", "/jobs/:id", _get),
    ("GET", "/jobs/:id/logs", _logs),
    ("POST", "/jobs/:id/cancel", _cancel),
    ("POST", "/jobs/:id/run-now", _run_now),
    ("POST", "/jobs/:id/rerun", _rerun),
    ("GET", "/dlq", _letters),
    ("GET", "/dlq/groups", _groups),
    ("GET", "/dlq/:id", lambda request: (200, _letter(request))),
    ("POST", "/dlq/:id/replay", _replay),
    ("GET", "/queues", _queues),
]
