"""Millrace: durable jobs and workflows. Client, typed tasks and worker."""

from .client.millrace import Millrace, use_client
from .client.operations import DeadLetterFilter, JobFilter, WorkflowFilter
from .errors.call_errors import (
    AlreadyFinishedError,
    AlreadyReplayedError,
    AuthError,
    ConflictError,
    ForbiddenError,
    InternalError,
    InvalidRequestError,
    LeaseLostError,
    MethodNotAllowedError,
    MillraceError,
    MisdirectedRequestError,
    NoAnswerError,
    NotFoundError,
    PayloadTooLargeError,
    UnauthorizedError,
    UnavailableError,
    UnsupportedMediaTypeError,
    WaitTimeoutError,
)
from .errors.handler_errors import (
    ChildEnd,
    ChildFailedError,
    JobCancelled,
    JobTimeout,
    LeaseLost,
    MismatchError,
    NonRetryableError,
    RetryAfterError,
    ShuttingDown,
    StopHandler,
    Suspended,
)
from .errors.outcome_errors import JobCancelledError, JobFailedError, WorkflowCancelledError, WorkflowFailedError
from .exactjson.text import json_text
from .http.transport import Hooks
from .tasks.call import Call
from .tasks.context import JobContext, RunningJob
from .tasks.decorator import AsyncContextTask, ContextTask, task
from .tasks.handles import JobHandle
from .tasks.policy import Limit, Rate, Retries, Unique
from .tasks.task import AsyncTask, Task
from .worker.events import WorkerEvent, WorkerSummary
from .worker.running.tracing import JobHooks
from .worker.worker import Worker, WorkerHealth
from .workflows.flow import Flow, Step
from .workflows.rules import When
from .workflows.workflow import Workflow, WorkflowCall, WorkflowHandle, workflow

__version__ = "0.2.0"

__all__ = [
    "AlreadyFinishedError",
    "AlreadyReplayedError",
    "AsyncContextTask",
    "AsyncTask",
    "AuthError",
    "Call",
    "ChildEnd",
    "ChildFailedError",
    "ConflictError",
    "ContextTask",
    "DeadLetterFilter",
    "Flow",
    "ForbiddenError",
    "Hooks",
    "InternalError",
    "InvalidRequestError",
    "JobCancelled",
    "JobCancelledError",
    "JobContext",
    "JobFailedError",
    "JobFilter",
    "JobHandle",
    "JobHooks",
    "JobTimeout",
    "LeaseLost",
    "LeaseLostError",
    "Limit",
    "MethodNotAllowedError",
    "Millrace",
    "MillraceError",
    "MisdirectedRequestError",
    "MismatchError",
    "NoAnswerError",
    "NonRetryableError",
    "NotFoundError",
    "PayloadTooLargeError",
    "Rate",
    "Retries",
    "RetryAfterError",
    "RunningJob",
    "ShuttingDown",
    "Step",
    "StopHandler",
    "Suspended",
    "Task",
    "UnauthorizedError",
    "UnavailableError",
    "Unique",
    "UnsupportedMediaTypeError",
    "WaitTimeoutError",
    "When",
    "Worker",
    "WorkerEvent",
    "WorkerHealth",
    "WorkerSummary",
    "Workflow",
    "WorkflowCall",
    "WorkflowCancelledError",
    "WorkflowFailedError",
    "WorkflowFilter",
    "WorkflowHandle",
    "json_text",
    "task",
    "use_client",
    "workflow",
]
