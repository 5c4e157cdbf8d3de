"""What a copy of a durable job begins with."""

from __future__ import annotations

from collections.abc import Sequence

from ..wire.types import ReplayRequest

#: Steps that need not run again: all that the job has completed (True), or those with these names.
Kept = bool | Sequence[str]


def keeping(kept: Kept) -> ReplayRequest | None:
    """As the service reads it; no body if nothing is kept, as for servers that know nothing of it."""
    if kept is False:
        return None
    if isinstance(kept, str):
        raise TypeError(f"keep_checkpoints is True or a list of names, not the text {kept!r}")
    return {"keep_checkpoints": True if kept is True else list(kept)}
