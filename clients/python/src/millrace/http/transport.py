"""Makes calls and repeats them."""

from __future__ import annotations

import http.client
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

from ..errors.call_errors import CLASSES, Failure, MillraceError, NoAnswerError, error_for
from ..exactjson.text import read, write
from .connections import Connections, Line, RawAnswer, lower_names
from .retry import is_repeated, parse_retry_after, retry_delay

Query = Mapping[str, "str | int | bool | None"]


@dataclass
class Request:
    """One call. Paths are below `/api/v1` and percent-encoded."""

    method: str
    path: str
    query: Query = field(default_factory=dict[str, "str | int | bool | None"])
    body: object = None
    #: Instead of `body`: the JSON text itself.
    body_text: str | None = None
    #: The Idempotency-Key.
    key: str | None = None
    #: The Lease-Token, where a worker reads.
    lease_token: str | None = None
    #: Instead of those of the transport.
    timeout: float | None = None
    attempts: int | None = None
    #: After a try whose outcome is unknown, codes that say that it took effect: the call has then succeeded.
    done_if: tuple[str, ...] = ()
    #: Asked before a try is repeated whose outcome is unknown. None: it may be.
    repeatable: Callable[[], bool] | None = None
    line: Line | None = None

    def address(self) -> str:
        """Path and query."""
        given = [(name, _parameter(value)) for name, value in self.query.items() if value is not None]
        return f"{self.path}?{urlencode(given)}" if given else self.path


@dataclass(frozen=True)
class Answer:
    """What came back: the parsed JSON, None if there is none, and the text that it was."""

    status: int
    body: Any
    text: str


class Exchange:
    """What carries calls: connections to a server, or a fake one in memory."""

    def exchange(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None, timeout: float, line: Line | None
    ) -> RawAnswer:
        raise NotImplementedError

    def open_stream(self, path: str, line: Line | None) -> IO[bytes] | RawAnswer:
        """A stream of events, or the answer that refuses it."""
        raise NotImplementedError

    def close(self) -> None:
        """Lets go of what is idle."""


#: Called with the task and the metadata of a job; what it returns is added to the metadata.
OnEnqueue = Callable[[str, Mapping[str, Any]], Mapping[str, Any] | None]


@dataclass(frozen=True)
class Hooks:
    """What is told of calls and jobs as they are made. A hook that raises spoils the call: keep them simple."""

    #: Before every try, with method, path and headers; headers may be added to.
    on_request: Callable[[str, str, dict[str, str]], None] | None = None
    #: After every try, with method, path and status; the status is None if nothing answered.
    on_response: Callable[[str, str, int | None, float], None] | None = None
    #: Before a job is created, with its task and metadata; what it returns is added to the metadata.
    on_enqueue: OnEnqueue | None = None


class Transport:
    """Calls until there is a final answer or no try is left.

    A call is repeated on no answer and on 500, 502, 503 and 504, after what `Retry-After` asks for or a random pause.
    Everything it is used for can be repeated, because creates carry a key; a caller that cannot be sure says so with
    `repeatable`.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        attempts: int,
        logger: logging.Logger,
        hooks: Hooks | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._base = f"{urlsplit(self.url).path}/api/v1"
        self._token = token
        self._timeout = timeout
        self._attempts = attempts
        self._hooks = hooks or Hooks()
        self._connections: Exchange | Connections = exchange or Connections(self.url)
        self._warned = _Warnings(logger)

    def call(self, request: Request) -> Answer:
        """Raises the MillraceError that belongs to the answer's code, or NoAnswerError."""
        attempts = request.attempts or self._attempts
        unknown = _Unknown()
        tries = 1
        while True:
            try:
                return self._try(request, unknown)
            except MillraceError as error:
                is_final = error.status is not None and not is_repeated(error.status)
                if is_final or tries >= attempts or (request.line is not None and request.line.is_cut):
                    raise
                if unknown.value and request.repeatable is not None and not request.repeatable():
                    raise
                time.sleep(retry_delay(tries, error.retry_after))
            tries += 1

    def open(self, path: str, timeout: float, line: Line | None = None) -> IO[bytes]:
        """Opens a stream, in one try. The caller reads it, and closes it."""
        request = Request("GET", path)
        if not isinstance(self._connections, Connections):
            opened = self._connections.open_stream(self._base + path, line)
            if isinstance(opened, RawAnswer):
                raise _refusal(opened, request, False)
            return opened
        connection = self._connections.open(timeout)
        try:
            if line is not None:
                line.take(connection)
            headers = {**self._headers(request, None), "Accept": "text/event-stream"}
            connection.request("GET", self._base + path, None, headers)
            response = connection.getresponse()
            if response.status == 200:
                return response
            raw = RawAnswer(response.status, response.reason, lower_names(response), response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise self._no_answer(error, request, False) from error
        connection.close()
        raise _refusal(raw, request, False)

    def close(self) -> None:
        """Closes idle connections; they are opened again when needed."""
        self._connections.close()

    def _try(self, request: Request, unknown: _Unknown) -> Answer:
        text = request.body_text
        if text is None and request.body is not None:
            text = write(request.body)
        body = None if text is None else text.encode()
        headers = self._headers(request, body)
        if self._hooks.on_request is not None:
            self._hooks.on_request(request.method, request.path, headers)
        started = time.monotonic()
        timeout = self._timeout if request.timeout is None else request.timeout
        try:
            raw = self._connections.exchange(
                request.method, self._base + request.address(), headers, body, timeout, request.line
            )
        except (OSError, http.client.HTTPException) as error:
            self._told(request, None, started)
            unknown.value = unknown.value or request.method != "GET"
            raise self._no_answer(error, request, unknown.value) from error
        self._told(request, raw.status, started)
        return self._judge(request, raw, unknown)

    def _judge(self, request: Request, raw: RawAnswer, unknown: _Unknown) -> Answer:
        changes = request.method != "GET"
        if 200 <= raw.status < 300:
            try:
                text = raw.body.decode()
                body = read(text) if text else None
            except ValueError as error:
                unknown.value = unknown.value or changes
                raise self._no_answer(ValueError("the answer is not JSON"), request, unknown.value) from error
            if isinstance(body, dict):
                self._warned.write(body.get("warnings"))
            return Answer(raw.status, body, text)
        after_unknown = unknown.value
        # 503 is the service's own refusal; anything else that is repeated may have come after the change was made.
        if is_repeated(raw.status) and raw.status != 503:
            unknown.value = unknown.value or changes
        refusal = _refusal(raw, request, is_repeated(raw.status) and unknown.value)
        if after_unknown and refusal.code in request.done_if:
            return Answer(raw.status, None, "")
        raise refusal

    def _headers(self, request: Request, body: bytes | None) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            # A misspelt field is refused instead of ignored.
            "Prefer": "handling=strict",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        if request.key is not None:
            headers["Idempotency-Key"] = request.key
        if request.lease_token is not None:
            headers["Lease-Token"] = request.lease_token
        return headers

    def _told(self, request: Request, status: int | None, started: float) -> None:
        if self._hooks.on_response is not None:
            self._hooks.on_response(request.method, request.path, status, time.monotonic() - started)

    def _no_answer(self, cause: BaseException, request: Request, may_have_happened: bool) -> NoAnswerError:
        reason = str(cause) or type(cause).__name__
        message = f"{request.method} {self.url}/api/v1{request.path}: no answer ({reason})"
        return NoAnswerError(message, Failure("no_answer", may_have_happened=may_have_happened, key=request.key))


@dataclass
class _Unknown:
    """Whether a try of the call may have taken effect without being answered."""

    value: bool = False


class _Warnings:
    """What the server warns about is logged, once each."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    def write(self, warnings: object) -> None:
        if not isinstance(warnings, list):
            return
        for warning in map(str, warnings):
            with self._lock:
                if warning in self._seen or len(self._seen) >= 1000:
                    continue
                self._seen.add(warning)
            self._logger.warning("the server warns: %s", warning)


def _refusal(raw: RawAnswer, request: Request, may_have_happened: bool) -> MillraceError:
    """The error that an answer means. A proxy in between may answer with something else than the service's body."""
    try:
        parsed: Any = read(raw.body)
    except ValueError:
        parsed = None
    body: dict[str, Any] = parsed if isinstance(parsed, dict) else {}
    sentence = body.get("error")
    message = sentence if isinstance(sentence, str) else f"{raw.status} {raw.reason}".strip()
    code = body.get("code")
    details = body.get("details")
    return error_for(
        f"{request.method} {request.path}: {message}",
        Failure(
            code if isinstance(code, str) and code in CLASSES else _code_of(raw.status),
            status=raw.status,
            request_id=raw.headers.get("x-request-id"),
            details=details if isinstance(details, list) else [],
            may_have_happened=may_have_happened,
            key=request.key,
            retry_after=parse_retry_after(raw.headers.get("retry-after")),
        ),
    )


_CODES = {
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
    429: "unavailable",
    502: "unavailable",
    503: "unavailable",
    504: "unavailable",
}


def _code_of(status: int) -> str:
    """For answers that are not the service's own."""
    return _CODES.get(status, "internal" if status >= 500 else "invalid_request")


def _parameter(value: str | int | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
