"""What durable jobs have stored."""

from __future__ import annotations

import json
from typing import Any

from .problem import Problem
from .store import Store, StoredJob

_MOST_BYTES = 4_194_304
_MOST_CHECKPOINTS = 1_000


def keep(store: Store, job: StoredJob, name: str, value: Any) -> tuple[Any, bool]:
    """What stands under the name, and whether it is new."""
    if name in job.checkpoints:
        return job.checkpoints[name]["value"], False
    size = sum(len(json.dumps(each["value"])) for each in job.checkpoints.values()) + len(json.dumps(value))
    if size > _MOST_BYTES or len(job.checkpoints) >= _MOST_CHECKPOINTS:
        raise Problem(413, "payload_too_large", "the checkpoints of the job have no room for it")
    attempt = job.record["delivery_count"]
    job.checkpoints[name] = {"name": name, "value": value, "at": store.clock.text(), "attempt": attempt}
    job.suspensions.pop(name, None)
    return value, True
