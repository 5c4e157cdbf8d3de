"""The programs of docs/python.md run as they are printed there, with the frameworks that are installed."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from millrace import JobFailedError, NonRetryableError
from millrace.testing import FakeServer, job_context

from .conftest import StartWorker
from .support.recipes import write_recipes

pytest_plugins = ["millrace.testing.plugin"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    write_recipes(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name == "app" or name.startswith(("app.", "fastapi_app", "flask_app", "django_")):
            del sys.modules[name]


def task_of(folder: Path) -> Any:
    return importlib.import_module("app.tasks").send_welcome


def test_durable_jobs(folder: Path, fake_millrace: FakeServer) -> None:
    refund = importlib.import_module("app.refunds").refund
    client = fake_millrace.client()
    small, large, refused = (refund.enqueue(order, cents) for order, cents in (("a", 1), ("b", 20_000), ("c", 20_000)))
    fake_millrace.drain(refund)
    asked = [wait["ask"] for wait in client.signals.waits(ask=True)]
    assert asked == [{"text": f"Refund 20000 for {order}?"} for order in "cb"]
    client.signals.send_to_job(large, "approval", {"approved": True})
    fake_millrace.drain(refund)
    fake_millrace.advance(3600)
    fake_millrace.drain(refund, task_of(folder))
    assert [job.result() for job in (small, large)] == [
        {"refund": f"ch-{order} {job.id}:refund", "mail": "42-en"} for order, job in (("a", small), ("b", large))
    ]
    fake_millrace.advance(3 * 86_400)
    fake_millrace.drain(refund)
    with pytest.raises(JobFailedError, match="refused"):
        refused.result()
    ctx = job_context(
        checkpoints={"find charge": {"id": "ch-1"}},
        signals={"approval": {"approved": True}},
        calls={"mail": {"message_id": "m"}},
    )
    assert refund(ctx, "x", 20_000) == {"refund": f"ch-1 {ctx.key('refund')}", "mail": "m"}
    with pytest.raises(NonRetryableError, match="refused"):
        refund(job_context(), "x", 20_000)


@pytest.mark.usefixtures("client")
def test_the_first_steps(folder: Path, start_worker: StartWorker, queue: str) -> None:
    send_welcome = task_of(folder)
    start_worker(send_welcome, queues={queue: 1})
    assert send_welcome.using(queue=queue).enqueue(42, locale="de").result() == {"message_id": "42-de"}


def test_fastapi(folder: Path, fake_millrace: FakeServer) -> None:
    testclient = pytest.importorskip("fastapi.testclient")
    client = testclient.TestClient(importlib.import_module("fastapi_app").app)
    answers = [client.post("/users/7/welcome") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    assert answers[0].json() == answers[1].json() == {"job": fake_millrace.jobs[0]["id"]}
    fake_millrace.drain(task_of(folder))
    assert [job["result"] for job in fake_millrace.jobs] == [{"message_id": "7-en"}]


def test_flask(folder: Path, fake_millrace: FakeServer) -> None:
    pytest.importorskip("flask")
    client = importlib.import_module("flask_app").app.test_client()
    assert client.post("/users/8/welcome").get_json() == {"job": fake_millrace.jobs[0]["id"]}
    fake_millrace.drain(task_of(folder))
    assert fake_millrace.jobs[0]["result"] == {"message_id": "8-en"}


DJANGO = """
import django, sys
from django.conf import settings
settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes"], SECRET_KEY="x", ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="urls", DEFAULT_AUTO_FIELD="django.db.models.AutoField",
)
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from millrace import use_client
from millrace.testing import FakeServer
fake = FakeServer()
use_client(fake.client())
from django.test import RequestFactory
from django.db import transaction
from django_views import sign_up
request = RequestFactory().post("/", {"name": "ada"})
with transaction.atomic():
    assert sign_up(request).status_code == 201
    assert fake.jobs == [], "nothing is enqueued before the commit"
assert [job["payload"] for job in fake.jobs] == [{"user_id": 1}]
import django_worker
from app.tasks import send_welcome
fake.drain(send_welcome)
with django_worker.fresh_connections(None):
    pass
assert fake.jobs[0]["status"] == "completed"
print("done")
"""


def test_django(folder: Path) -> None:
    pytest.importorskip("django")
    (folder / "urls.py").write_text("urlpatterns = []\n")
    command = [sys.executable, "-c", DJANGO]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.stdout.strip() == "done", ended.stderr
