"""Heartbeats on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ...errors.call_errors import MillraceError
from ...http.transport import Request, Transport
from ...wire.types import NewLogLine
from ..calls.calls import AssumedFeatures, each_of, is_unknown_route

#: The answer that says nothing about the lease.
UNANSWERED = "unanswered"

# A status of the job, or that it is not ours. Codes that say nothing about the lease count as no answer.
_MEANT = frozenset({"pending", "running", "retrying", "completed", "failed", "cancelled", "lease_lost", "not_found"})
# The most leases that the service extends in one call.
_MOST_PER_CALL = 1000
# Plain heartbeats in flight at a time, against a server that takes them one by one.
_PLAIN_AT_ONCE = 16


@dataclass(frozen=True)
class Beat:
    """One heartbeat."""

    job_id: str
    token: str
    progress: Mapping[str, Any] | None = None
    #: What the handler wrote since the last one.
    logs: Sequence[NewLogLine] = ()


class HeartbeatCalls:
    """Sends heartbeats; never raises. Answers in the order of the beats."""

    def __init__(self, transport: Transport, features: AssumedFeatures, extend_secs: int) -> None:
        self._transport = transport
        self._features = features
        self._extend_secs = extend_secs

    def send(self, beats: Sequence[Beat], timeout: float) -> list[str]:
        sent = list(beats)
        if not self._features.has("progress"):
            sent = [replace(beat, progress=None) for beat in sent]
        if self._features.has("heartbeats"):
            parts = [sent[at : at + _MOST_PER_CALL] for at in range(0, len(sent), _MOST_PER_CALL)]
            answers = each_of(parts, 4, lambda part: self._gathered(part, timeout))
            if self._features.has("heartbeats"):
                return [answer for part in answers for answer in part]
        return each_of(sent, _PLAIN_AT_ONCE, lambda beat: self._plain(beat, timeout))

    def _gathered(self, beats: Sequence[Beat], timeout: float) -> list[str]:
        leases = [{"job_id": beat.job_id, **_fields(beat)} for beat in beats]
        body = {"extend_secs": self._extend_secs, "leases": leases}
        try:
            answered = self._transport.call(Request("POST", "/heartbeats", body=body, timeout=timeout)).body["leases"]
            entries = [answered[number] if number < len(answered) else {} for number in range(len(beats))]
            return [_answer_of(entry.get("status") or entry.get("code")) for entry in entries]
        except MillraceError as error:
            if is_unknown_route(error):
                self._features.lacks("heartbeats")
            # The lease matters more than what was said about the work: what the server refuses of that is dropped.
            if error.status in (400, 413) and any(map(_says_more, beats)):
                return self._gathered([_bare(beat) for beat in beats], timeout)
            return [UNANSWERED] * len(beats)

    def _plain(self, beat: Beat, timeout: float) -> str:
        path = f"/jobs/{quote(beat.job_id, safe='')}/heartbeat"
        body = {"extend_secs": self._extend_secs, **_fields(beat)}
        try:
            return _answer_of(self._transport.call(Request("POST", path, body=body, timeout=timeout)).body["status"])
        except MillraceError as error:
            if error.status in (400, 413) and _says_more(beat):
                return self._plain(_bare(beat), timeout)
            return _answer_of(error.code)


def _fields(beat: Beat) -> dict[str, Any]:
    fields: dict[str, Any] = {"lease_token": beat.token}
    if beat.progress is not None:
        fields["progress"] = beat.progress
    if beat.logs:
        fields["logs"] = beat.logs
    return fields


def _says_more(beat: Beat) -> bool:
    return beat.progress is not None or len(beat.logs) > 0


def _bare(beat: Beat) -> Beat:
    return replace(beat, progress=None, logs=())


def _answer_of(word: str | None) -> str:
    return word if word in _MEANT else UNANSWERED
