"""What the fake server refuses."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - it is an answer before it is an error
    """An answer that is an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def not_found(what: str) -> Problem:
    return Problem(404, "not_found", f"there is no such {what}")


def invalid(message: str) -> Problem:
    return Problem(400, "invalid_request", message)
