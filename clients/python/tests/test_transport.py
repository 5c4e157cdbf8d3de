"""How calls are repeated, against a server that follows a script."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from millrace import (
    AlreadyFinishedError,
    Hooks,
    InvalidRequestError,
    MillraceError,
    NoAnswerError,
    UnavailableError,
    task,
)
from millrace import Millrace as Client
from millrace.http.event_stream import read_events

Step = tuple[int, dict[str, str], Any] | None


class ScriptedServer:
    """Answers with the steps of a script, one after the other; None hangs up. The last one is repeated."""

    def __init__(self) -> None:
        self.script: list[Step] = []
        self.seen: list[dict[str, Any]] = []
        self.connections = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                outer.connections += 1
                super().setup()

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                outer.seen.append({"path": self.path, "headers": headers, "body": body, "at": time.monotonic()})
                step = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                if step is None:
                    self.close_connection = True
                    return
                status, more, content = step
                text = b"" if content is None else json.dumps(content).encode()
                self.send_response(status)
                for name, value in {**more, "content-length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_DELETE = handle_any  # noqa: N815 - as http.server calls them

            def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002 - as http.server calls it

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/base/"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    yield server
    server.close()


@task
def ping(n: int) -> None: ...


CREATED: Step = (201, {}, {"job_id": "j1"})


def problem(status: int, code: str, **headers: str) -> Step:
    body = {"error": "a sentence", "code": code, "details": [{"path": "/a", "message": "wrong"}]}
    return (status, {"x-request-id": "r1", **headers}, body)


def test_a_create_is_repeated_with_the_same_key_and_body(scripted: ScriptedServer) -> None:
    scripted.script = [None, problem(500, "internal"), CREATED]
    client = Client(scripted.url, "secret")
    assert client.enqueue(ping.call(1)).id == "j1"
    assert len({seen["headers"]["idempotency-key"] for seen in scripted.seen}) == 1
    assert len({seen["body"] for seen in scripted.seen}) == 1
    first = scripted.seen[0]
    assert first["path"] == "/base/api/v1/jobs"
    assert first["headers"]["authorization"] == "Bearer secret"
    assert first["headers"]["prefer"] == "handling=strict"


def test_calls_share_a_connection_and_survive_one_that_was_closed(scripted: ScriptedServer) -> None:
    client = Client(scripted.url, attempts=1)
    scripted.script = [CREATED]
    for _ in range(5):
        client.enqueue(ping.call(1))
    assert scripted.connections == 1
    scripted.script = [(201, {"connection": "close"}, {"job_id": "j2"}), CREATED]
    client.enqueue(ping.call(1))
    assert client.enqueue(ping.call(1)).id == "j1"


def test_the_server_says_when_to_try_again(scripted: ScriptedServer) -> None:
    scripted.script = [problem(503, "unavailable", **{"retry-after": "1"}), CREATED]
    Client(scripted.url).enqueue(ping.call(1))
    assert scripted.seen[1]["at"] - scripted.seen[0]["at"] >= 1


def test_an_error_says_whether_it_may_have_happened(scripted: ScriptedServer) -> None:
    client = Client(scripted.url, attempts=2)
    scripted.script = [None]
    with pytest.raises(NoAnswerError) as no_answer:
        client.enqueue(ping.using(key="mine").call(1))
    assert no_answer.value.may_have_happened
    assert no_answer.value.key == "mine"
    scripted.script = [problem(503, "unavailable", **{"retry-after": "0"})]
    with pytest.raises(UnavailableError) as unavailable:
        client.enqueue(ping.call(1))
    assert not unavailable.value.may_have_happened
    assert unavailable.value.retry_after == 0
    with pytest.raises(NoAnswerError):
        Client("http://127.0.0.1:1", attempts=1).whoami()


def test_what_is_final_is_not_repeated(scripted: ScriptedServer) -> None:
    scripted.script = [problem(400, "invalid_request")]
    with pytest.raises(InvalidRequestError) as refused:
        Client(scripted.url).enqueue(ping.call(1))
    assert len(scripted.seen) == 1
    assert (refused.value.status, refused.value.request_id) == (400, "r1")
    assert refused.value.details == [{"path": "/a", "message": "wrong"}]
    scripted.script = [(418, {}, None)]
    with pytest.raises(MillraceError) as other:
        Client(scripted.url).whoami()
    assert other.value.status == 418


def test_after_an_unanswered_try_the_state_that_it_led_to_is_success(scripted: ScriptedServer) -> None:
    client = Client(scripted.url)
    finished = problem(409, "already_finished")
    scripted.script = [None, finished]
    client.jobs.cancel("j1")
    scripted.script = [finished]
    with pytest.raises(AlreadyFinishedError):
        client.jobs.cancel("j1")


def test_an_older_server_that_ignores_the_key_is_not_asked_twice(scripted: ScriptedServer) -> None:
    scripted.script = [None, problem(404, "not_found"), CREATED]
    with pytest.raises(NoAnswerError) as error:
        Client(scripted.url).enqueue_many([ping.call(1)])
    assert error.value.may_have_happened
    assert [seen["path"] for seen in scripted.seen] == ["/base/api/v1/jobs/batch", "/base/api/v1/whoami"]


def test_warnings_are_logged_once_and_hooks_are_told(
    scripted: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Any] = []
    hooks = Hooks(
        on_request=lambda method, path, headers: headers.update({"x-mine": f"{method} {path}"}),
        on_response=lambda method, path, status, secs: told.append((method, path, status)),
        on_enqueue=lambda name, metadata: {"from": name},
    )
    client = Client(scripted.url, hooks=hooks)
    scripted.script = [(201, {}, {"job_id": "j1", "warnings": ["unknown field"]})]
    with caplog.at_level(logging.WARNING):
        client.enqueue(ping.call(1))
        client.enqueue(ping.call(1))
    assert [record.getMessage() for record in caplog.records] == ["the server warns: unknown field"]
    assert scripted.seen[0]["headers"]["x-mine"] == "POST /jobs"
    assert json.loads(scripted.seen[0]["body"])["metadata"] == {"from": "ping"}
    assert told == [("POST", "/jobs", 201)] * 2


def test_tokens_that_no_header_can_carry_are_not_repeated_in_the_error() -> None:
    with pytest.raises(ValueError, match="visible ASCII") as refused:
        Client(token="geheim und ü")
    assert "geheim" not in str(refused.value)
    assert "secret" not in repr(Client(token="secret\n"))


def test_event_streams_are_read_by_the_standard() -> None:
    import io

    text = b": comment\r\nevent: status\r\ndata: {\ndata:}\n\nid: 1\n\ndata: x\ry: z\n\nevent: cut"
    assert list(read_events(io.BytesIO(text))) == [("status", "{\n}"), ("message", "x")]
