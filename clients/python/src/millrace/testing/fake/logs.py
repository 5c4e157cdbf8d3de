"""What handlers wrote, by the service's own rules."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .problem import invalid
from .store import Store, StoredJob

_MOST_PER_CALL = 100
_MESSAGE_MAX = 8_192
_ATTEMPT_BYTES = 65_536
_LINE_BYTES = 32
_PAGE = 1_000
_CUT = " … (cut)"


def keep_lines(store: Store, job: StoredJob, given: Sequence[Mapping[str, Any]] | None) -> None:
    """Keeps lines with the attempt that runs: the first and the last half of what there is room for."""
    if not given:
        return
    attempt = job.record["delivery_count"]
    before = [line for line in job.logs if line["attempt"] == attempt]
    kept = [*before]
    for line in given[:_MOST_PER_CALL]:
        job.lines += 1
        seq = 1 + (kept[-1]["seq"] if kept else 0)
        fields = line.get("fields")
        known = {"attempt": attempt, "seq": seq, "at": line["at"], "level": line["level"]}
        kept.append({**known, "message": _cut(line["message"]), **({} if not fields else {"fields": fields})})
    others = [line for line in job.logs if line["attempt"] != attempt]
    job.logs = [*others, *_within(kept)]
    store.changed.notify_all()


def log_page(job: StoredJob, attempt: str | None, after: str | None) -> dict[str, Any]:
    place = _place(after)
    wanted = [line for line in job.logs if attempt is None or line["attempt"] == int(attempt)]
    ahead = [line for line in wanted if (line["attempt"], line["seq"]) > place]
    page = ahead[:_PAGE]
    answer: dict[str, Any] = {"lines": page, "omitted": job.lines - len(job.logs)}
    if not job.has_ended or len(ahead) > len(page):
        last = (page[-1]["attempt"], page[-1]["seq"]) if page else place
        answer["next"] = f"{last[0]}.{last[1]}"
    return answer


def has_more(job: StoredJob, attempt: str | None, after: str | None) -> bool:
    """Whether somebody who waits for lines is to be answered."""
    return job.has_ended or len(log_page(job, attempt, after)["lines"]) > 0


def _place(after: str | None) -> tuple[int, int]:
    try:
        attempt, seq = (after or "0.0").split(".")
        return int(attempt), int(seq)
    except ValueError:
        raise invalid("after is not the next of a page of logs") from None


def _within(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    total = sum(map(_size_of, lines))
    if total <= _ATTEMPT_BYTES:
        return lines
    kept: list[dict[str, Any]] = []
    offset = 0
    for line in lines:
        size = _size_of(line)
        if offset + size <= _ATTEMPT_BYTES // 2 or offset >= total - _ATTEMPT_BYTES // 2:
            kept.append(line)
        offset += size
    return kept


def _size_of(line: Mapping[str, Any]) -> int:
    fields = line.get("fields")
    return _LINE_BYTES + len(line["message"].encode()) + (0 if fields is None else len(json.dumps(fields)))


def _cut(message: str) -> str:
    if len(message.encode()) <= _MESSAGE_MAX:
        return message
    return message.encode()[: _MESSAGE_MAX - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT
