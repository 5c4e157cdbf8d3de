"""Reports on the wire."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import quote

from ...errors.call_errors import MillraceError
from ...http.transport import Request, Transport
from ...wire.types import NewLogLine
from ..calls.calls import AssumedFeatures, each_of, is_unknown_route
from ..leases.beat_loop import HeldLease
from .outcome import Completed, Failed, Outcome, Released, Waiting, retryable_failure

# Plain reports in flight at a time, against a server that takes them one by one.
_PLAIN_AT_ONCE = 16
# A server that cannot take a job back for free has it failed, to be tried again.
_GIVEN_BACK = retryable_failure("the worker stopped before the job ended")
_NOT_KNOWN = retryable_failure("the worker has no handler for this task")


@dataclass(frozen=True)
class ReportAnswer:
    """What became of a report.

    `lost`: the job is no longer ours, or gone. `refused`: the server does not take it, and will not. `unanswered`: no
    answer that counts.
    """

    kind: Literal["accepted", "lost", "refused", "unanswered"]
    why: str = ""
    retry_after: float | None = None


@dataclass(frozen=True)
class Sendable:
    lease: HeldLease
    outcome: Outcome
    #: The span that the run was, if it is traced.
    traceparent: str | None = None
    #: What the handler wrote since it was last sent.
    logs: Sequence[NewLogLine] = ()


_ACCEPTED = ReportAnswer("accepted")
_UNANSWERED = ReportAnswer("unanswered")


class ReportCalls:
    """Sends reports, gathered if the server takes them so; never raises. Answers in the order of the reports."""

    def __init__(self, transport: Transport, features: AssumedFeatures) -> None:
        self._transport = transport
        self._features = features

    def send(self, reports: Sequence[Sendable]) -> list[ReportAnswer]:
        if self._features.has("reports"):
            answers = self._gathered(reports)
            if answers is not None:
                return answers
        return each_of(reports, _PLAIN_AT_ONCE, self._plain)

    def _gathered(self, reports: Sequence[Sendable]) -> list[ReportAnswer] | None:
        """None if the server does not know the route."""
        text = f'{{"reports":[{",".join(map(_gathered_text, reports))}]}}'
        try:
            entries = self._transport.call(Request("POST", "/reports", body_text=text)).body["reports"]
        except MillraceError as error:
            if is_unknown_route(error):
                self._features.lacks("reports")
                return None
            answer = _judge_error(error)
            # One of several may have spoilt the call for all; each is sent by itself to find out which.
            if answer.kind == "refused" and len(reports) > 1:
                return [(self._gathered([report]) or [_UNANSWERED])[0] for report in reports]
            return [answer] * len(reports)
        answers: list[ReportAnswer] = []
        for number in range(len(reports)):
            entry = entries[number] if number < len(entries) else {}
            if entry.get("ok") is True:
                answers.append(_ACCEPTED)
            else:
                answers.append(_judge(entry.get("code"), entry.get("error") or "no reason given"))
        return answers

    def _plain(self, report: Sendable) -> ReportAnswer:
        outcome = report.outcome
        if isinstance(outcome, Released) and not self._features.has("release"):
            outcome = (
                _GIVEN_BACK if outcome.delay_secs is None else replace(_NOT_KNOWN, retry_after_secs=outcome.delay_secs)
            )
        path = f"/jobs/{quote(report.lease.job_id, safe='')}/{_ACTIONS[type(outcome)]}"
        text = f'{{"lease_token":{json.dumps(report.lease.token)}{_fields_text(outcome)}{_logs_text(report)}}}'
        try:
            self._transport.call(Request("POST", path, body_text=text))
            return _ACCEPTED
        except MillraceError as error:
            return _judge_error(error)


#: What a route does, and how a gathered report calls it.
_ACTIONS = {Completed: "complete", Failed: "fail", Released: "release", Waiting: "suspend"}
_WORDS = {Completed: "completed", Failed: "failed", Released: "released", Waiting: "suspended"}


def _gathered_text(report: Sendable) -> str:
    lease, outcome = report.lease, report.outcome
    trace = "" if report.traceparent is None else f',"traceparent":{json.dumps(report.traceparent)}'
    return (
        f'{{"job_id":{json.dumps(lease.job_id)},"lease_token":{json.dumps(lease.token)},'
        f'"outcome":"{_WORDS[type(outcome)]}"{_fields_text(outcome)}{_logs_text(report)}{trace}}}'
    )


def _fields_text(outcome: Outcome) -> str:
    if isinstance(outcome, Completed):
        return f',"result":{outcome.result}'
    if isinstance(outcome, (Failed, Waiting)):
        fields = outcome.fields() if isinstance(outcome, Failed) else outcome.suspension.fields()
        return f",{json.dumps(fields, separators=(',', ':'))[1:-1]}"
    return "" if outcome.delay_secs is None else f',"delay_secs":{outcome.delay_secs}'


def _logs_text(report: Sendable) -> str:
    return f',"logs":{json.dumps(report.logs, separators=(",", ":"))}' if report.logs else ""


def _judge_error(error: MillraceError) -> ReportAnswer:
    answer = _judge(error.code, str(error))
    return ReportAnswer("unanswered", retry_after=error.retry_after) if answer.kind == "unanswered" else answer


def _judge(code: str | None, why: str) -> ReportAnswer:
    if code in ("invalid_request", "payload_too_large", "unsupported_media_type"):
        return ReportAnswer("refused", why)
    if code in ("lease_lost", "not_found", "conflict"):
        return ReportAnswer("lost", why)
    return _UNANSWERED
