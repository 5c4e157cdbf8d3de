"""Calls that did not succeed: one class per code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..wire.types import ErrorDetailsItem


@dataclass(frozen=True)
class Failure:
    """What is known about a call that failed."""

    code: str
    status: int | None = None
    request_id: str | None = None
    details: Sequence[ErrorDetailsItem] = field(default_factory=tuple)
    may_have_happened: bool = False
    key: str | None = None
    retry_after: float | None = None


class MillraceError(Exception):
    """A call that did not succeed. Branch on the class or on `code`; the wording of the message may change."""

    def __init__(self, message: str, failure: Failure) -> None:
        super().__init__(message)
        self.code = failure.code
        #: The status of the answer; None if there was none.
        self.status = failure.status
        #: What the server calls the request in its log.
        self.request_id = failure.request_id
        #: The fields at fault, if the request failed validation.
        self.details = failure.details
        #: No final answer came to a call that changes something: it may have taken effect or not.
        self.may_have_happened = failure.may_have_happened
        #: The Idempotency-Key of the call, if it had one: calling again with the same key repeats nothing.
        self.key = failure.key
        #: When to try again, in seconds, if the server said so.
        self.retry_after = failure.retry_after


class InvalidRequestError(MillraceError):
    """400: something about the request is wrong; `details` names the fields."""


class AuthError(MillraceError):
    """The token is unknown, or may not do this."""


class UnauthorizedError(AuthError):
    """401: no token, or one that the server does not know."""


class ForbiddenError(AuthError):
    """403: the token may not do this, or the thing is another tenant's."""


class NotFoundError(MillraceError):
    """404: there is no such thing, or no longer."""


class MethodNotAllowedError(MillraceError):
    """405: the server knows the address, but not for this method; it may be older than this package."""


class ConflictError(MillraceError):
    """409: the state of the thing does not allow it."""


class AlreadyFinishedError(ConflictError):
    """409: the job or workflow has ended."""


class AlreadyReplayedError(ConflictError):
    """409: the dead letter has been replayed."""


class LeaseLostError(MillraceError):
    """409: another worker holds the lease by now."""


class PayloadTooLargeError(MillraceError):
    """413: a payload, result, metadata or the whole request is too large."""


class UnsupportedMediaTypeError(MillraceError):
    """415: the body is not what the server reads."""


class MisdirectedRequestError(MillraceError):
    """421: the server does not answer to the host name in the address (`--allowed-hosts`)."""


class UnavailableError(MillraceError):
    """502, 503, 504: the service cannot answer at the moment."""


class InternalError(MillraceError):
    """500: a fault of the server."""


class NoAnswerError(MillraceError):
    """Nothing answered: connection refused or broken, or the time of a try ran out."""


class WaitTimeoutError(MillraceError, TimeoutError):
    """The job or workflow had not ended within the given time. It goes on."""


CLASSES: dict[str, type[MillraceError]] = {
    "invalid_request": InvalidRequestError,
    "unauthorized": UnauthorizedError,
    "forbidden": ForbiddenError,
    "not_found": NotFoundError,
    "method_not_allowed": MethodNotAllowedError,
    "conflict": ConflictError,
    "lease_lost": LeaseLostError,
    "already_replayed": AlreadyReplayedError,
    "already_finished": AlreadyFinishedError,
    "payload_too_large": PayloadTooLargeError,
    "unsupported_media_type": UnsupportedMediaTypeError,
    "misdirected_request": MisdirectedRequestError,
    "unavailable": UnavailableError,
    "internal": InternalError,
    "no_answer": NoAnswerError,
    "timeout": WaitTimeoutError,
}


def error_for(message: str, failure: Failure) -> MillraceError:
    """An error of the class that belongs to its code. A newer server may send codes that are not known here."""
    return CLASSES.get(failure.code, MillraceError)(message, failure)


def refused(message: str) -> InvalidRequestError:
    """A request that is refused before anything is sent."""
    return InvalidRequestError(message, Failure("invalid_request"))
