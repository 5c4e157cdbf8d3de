"""The shapes of the API, made from its OpenAPI document by scripts/generate_wire.py. Not to be edited."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class AskChoicesItem(TypedDict):
    label: str
    value: Any


class _AskRequired(TypedDict):
    text: str


class Ask(_AskRequired, total=False):
    choices: list[AskChoicesItem] | None


class Attempt(TypedDict):
    number: int
    outcome: AttemptOutcome
    worker_id: str | None
    started_at: str | None
    ended_at: str | None
    error_message: str | None
    error_details: ErrorDetails | None
    next_retry_at: str | None


AttemptOutcome = Literal[
    "completed", "failed", "timed_out", "lease_expired", "cancelled", "released", "suspended", "running"
]


class Attempts(TypedDict):
    first_due_at: str
    attempts: list[Attempt]
    omitted: int


class Checkpoint(TypedDict):
    name: str
    value: Any
    at: str
    attempt: int


class CheckpointRequest(TypedDict):
    lease_token: str
    name: str
    value: Any


class CheckpointsWaitsItem(TypedDict):
    name: str
    until: str


class Checkpoints(TypedDict):
    checkpoints: list[Checkpoint]
    waits: list[CheckpointsWaitsItem]


class _ChildJobRequired(TypedDict):
    name: str
    task_name: str


class ChildJob(_ChildJobRequired, total=False):
    detached: bool | None
    payload: dict[str, Any] | None
    config: JobConfigInput | None
    run_at: str | None
    delay_secs: int | None
    metadata: dict[str, Any] | None


class _ChildrenCreatedRequired(TypedDict):
    job_ids: list[str]


class ChildrenCreated(_ChildrenCreatedRequired, total=False):
    warnings: list[str]


class ChildrenRequest(TypedDict):
    lease_token: str
    jobs: list[ChildJob]


class _CompleteRequestRequired(TypedDict):
    lease_token: str


class CompleteRequest(_CompleteRequestRequired, total=False):
    result: dict[str, Any] | None
    logs: list[NewLogLine] | None


_ConditionRefOptionalSpelt = TypedDict(
    "_ConditionRefOptionalSpelt",
    {
        "$step": "str | None",
    },
    total=False,
)


class ConditionRef(_ConditionRefOptionalSpelt, total=False):
    path: list[str] | None


class Count(TypedDict):
    n: int
    exact: bool


class _CreateCronRequired(TypedDict):
    name: str
    cron_expr: str


class CreateCron(_CreateCronRequired, total=False):
    timezone: str | None
    task_name: str | None
    workflow: ScheduledWorkflow | None
    payload: dict[str, Any] | None
    queue: str | None
    config: ScheduleJobConfig | None
    overlap: CronOverlap | None


class _CreateJobRequired(TypedDict):
    task_name: str


class CreateJob(_CreateJobRequired, total=False):
    payload: dict[str, Any] | None
    config: JobConfigInput | None
    run_at: str | None
    delay_secs: int | None
    metadata: dict[str, Any] | None
    idempotency_key: str | None


class CreateJobBatch(TypedDict):
    jobs: list[CreateJob]


class _CreateOperationRequired(TypedDict):
    action: OperationAction


class CreateOperation(_CreateOperationRequired, total=False):
    filter: OperationFilter
    ids: list[str] | None
    keep_checkpoints: bool | list[str] | None
    dry_run: bool | None


class _CreateWorkflowRequired(TypedDict):
    name: str
    steps: list[WorkflowStepInput]


class CreateWorkflow(_CreateWorkflowRequired, total=False):
    context: dict[str, Any] | None
    metadata: dict[str, Any] | None


class Cron(TypedDict):
    id: str
    name: str
    cron_expr: str
    timezone: str
    task_name: str | None
    workflow: ScheduledWorkflow | None
    payload: dict[str, Any]
    queue_name: str | None
    config: ScheduleJobConfig
    overlap: CronOverlap
    enabled: bool
    next_run_at: str | None
    last_enqueued_at: str | None
    created_at: str
    tenant_id: str


class _CronCreatedRequired(TypedDict):
    cron_id: str


class CronCreated(_CronCreatedRequired, total=False):
    warnings: list[str]


class CronFiring(TypedDict):
    occurrence: str
    fired_at: str
    kind: CronFiringKind
    job_id: str | None
    workflow_id: str | None


CronFiringKind = Literal["on_time", "catch_up", "triggered", "skipped"]


class _CronFiringPageRequired(TypedDict):
    firings: list[CronFiring]
    limit: int
    offset: int
    has_more: bool


class CronFiringPage(_CronFiringPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]


CronOrder = Literal["created_at ASC", "created_at DESC", "next_run_at ASC"]

CronOverlap = Literal["allow", "skip"]


class _CronPageRequired(TypedDict):
    crons: list[Cron]
    limit: int
    offset: int
    has_more: bool


class CronPage(_CronPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]


class CronPreview(TypedDict):
    next: list[str]


class CronTriggered(TypedDict, total=False):
    job_id: str
    workflow_id: str


class DeadLetter(TypedDict):
    id: int
    job_id: str
    queue_name: str
    task_name: str
    reason: DeadLetterReason
    error_message: str | None
    created_at: str
    replayed_at: str | None
    replay_job_id: str | None
    tenant_id: str
    payload_bytes: int | None
    retry_count: int | None
    fingerprint: str


class DeadLetterGroup(TypedDict):
    fingerprint: str
    task_name: str
    reason: DeadLetterReason
    message: str | None
    count: int
    open: int
    first_at: str
    last_at: str
    latest_id: int


class _DeadLetterGroupsRequired(TypedDict):
    groups: list[DeadLetterGroup]
    has_more: bool


class DeadLetterGroups(_DeadLetterGroupsRequired, total=False):
    next_cursor: str
    searched_to: str
    warnings: list[str]


class _DeadLetterPageRequired(TypedDict):
    dead_letters: list[DeadLetter]
    limit: int
    offset: int
    has_more: bool


class DeadLetterPage(_DeadLetterPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]
    searched_to: str


DeadLetterReason = Literal["max_attempts_exceeded", "non_retryable", "handler_not_found"]


class _DryRunSampleItemRequired(TypedDict):
    id: str
    created_at: str


class DryRunSampleItem(_DryRunSampleItemRequired, total=False):
    task_name: str
    queue_name: str
    name: str


class _DryRunRequired(TypedDict):
    matched: Count
    sample: list[DryRunSampleItem]


class DryRun(_DryRunRequired, total=False):
    warnings: list[str]


class EndedJobs(TypedDict):
    jobs: list[JobSummary]
    next: str
    more: bool
    missed: bool


class ErrorDetailsItem(TypedDict):
    path: str
    message: str


class _ErrorRequired(TypedDict):
    error: str
    code: ErrorCode
    timestamp: str


class Error(_ErrorRequired, total=False):
    details: list[ErrorDetailsItem]


ErrorCode = Literal[
    "invalid_request",
    "unauthorized",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "conflict",
    "lease_lost",
    "already_replayed",
    "already_finished",
    "payload_too_large",
    "unsupported_media_type",
    "misdirected_request",
    "unavailable",
    "internal",
]


class ErrorDetails(TypedDict, total=False):
    name: str | None
    stack: str | None


class _FailRequestRequired(TypedDict):
    lease_token: str
    error: str


class FailRequest(_FailRequestRequired, total=False):
    retryable: bool | None
    retry_after_secs: int | None
    details: ErrorDetails | None
    logs: list[NewLogLine] | None


class _HeartbeatRequestRequired(TypedDict):
    lease_token: str


class HeartbeatRequest(_HeartbeatRequestRequired, total=False):
    extend_secs: int | None
    progress: dict[str, Any] | None
    logs: list[NewLogLine] | None


class HeartbeatResponse(TypedDict):
    status: JobStatus


class _HeartbeatsRequestLeasesItemRequired(TypedDict):
    job_id: str
    lease_token: str


class HeartbeatsRequestLeasesItem(_HeartbeatsRequestLeasesItemRequired, total=False):
    progress: dict[str, Any] | None
    logs: list[NewLogLine] | None


class _HeartbeatsRequestRequired(TypedDict):
    leases: list[HeartbeatsRequestLeasesItem]


class HeartbeatsRequest(_HeartbeatsRequestRequired, total=False):
    extend_secs: int | None


class _HeartbeatsResponseLeasesItemRequired(TypedDict):
    job_id: str


class HeartbeatsResponseLeasesItem(_HeartbeatsResponseLeasesItemRequired, total=False):
    status: JobStatus
    code: ErrorCode
    error: str


class HeartbeatsResponse(TypedDict):
    leases: list[HeartbeatsResponseLeasesItem]


class _JobRequired(TypedDict):
    id: str
    queue_name: str
    task_name: str
    payload: dict[str, Any]
    config: JobConfig
    status: JobStatus
    result: dict[str, Any] | None
    error_message: str | None
    retry_count: int
    delivery_count: int
    created_at: str
    scheduled_at: str
    started_at: str | None
    completed_at: str | None
    next_retry_at: str | None
    idempotency_key: str | None
    workflow_id: str | None
    workflow_step_id: str | None
    tenant_id: str
    metadata: dict[str, Any]
    worker_id: str | None
    lease_expires_at: str | None
    progress: dict[str, Any] | None


class Job(_JobRequired, total=False):
    parent_job_id: str
    waiting_for: WaitingFor
    error_details: ErrorDetails


class _JobBatchCreatedRequired(TypedDict):
    job_ids: list[str]
    count: int


class JobBatchCreated(_JobBatchCreatedRequired, total=False):
    replayed: list[int]
    existing: list[int]
    warnings: list[str]


class _JobConfigRequired(TypedDict):
    priority: int
    max_retries: int
    timeout_secs: int
    retry_backoff: RetryBackoff
    retry_delay_secs: int
    retry_max_delay_secs: int
    jitter_factor: float


class JobConfig(_JobConfigRequired, total=False):
    limits: list[Limit]
    expires_secs: int
    expires_at: str
    unique: Unique


class JobConfigInput(TypedDict, total=False):
    queue: str | None
    priority: int | None
    max_retries: int | None
    timeout_secs: int | None
    retry_backoff: RetryBackoff | None
    retry_delay_secs: int | None
    retry_max_delay_secs: int | None
    jitter_factor: float | None
    limits: list[Limit] | None
    expires_secs: int | None
    expires_at: str | None
    unique: Unique | None


class _JobCreatedRequired(TypedDict):
    job_id: str


class JobCreated(_JobCreatedRequired, total=False):
    warnings: list[str]


class _JobLogsRequired(TypedDict):
    lines: list[LogLine]
    omitted: int


class JobLogs(_JobLogsRequired, total=False):
    next: str


class _JobPageRequired(TypedDict):
    jobs: list[Job]
    limit: int
    offset: int
    has_more: bool


class JobPage(_JobPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]
    searched_to: str


class JobProgressEvent(TypedDict):
    event: Literal["progress"]
    data: dict[str, Any]


class JobSignalRequest(TypedDict, total=False):
    value: Any


JobStatus = Literal["pending", "running", "retrying", "completed", "failed", "cancelled"]


class JobStatusEvent(TypedDict):
    event: Literal["status"]
    data: Job


class _JobSummaryRequired(TypedDict):
    id: str
    queue_name: str
    task_name: str
    config: JobConfig
    status: JobStatus
    error_message: str | None
    retry_count: int
    delivery_count: int
    created_at: str
    scheduled_at: str
    started_at: str | None
    completed_at: str | None
    next_retry_at: str | None
    idempotency_key: str | None
    workflow_id: str | None
    workflow_step_id: str | None
    tenant_id: str
    worker_id: str | None
    lease_expires_at: str | None
    progress: dict[str, Any] | None
    payload_bytes: int


class JobSummary(_JobSummaryRequired, total=False):
    parent_job_id: str
    waiting_for: WaitingFor


class _JobSummaryPageRequired(TypedDict):
    jobs: list[JobSummary]
    limit: int
    offset: int
    has_more: bool


class JobSummaryPage(_JobSummaryPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]
    searched_to: str


class LeaseRequest(TypedDict, total=False):
    max_jobs: int | None
    lease_secs: int | None
    wait_secs: int | None
    worker_id: str | None
    slots: int | None
    tasks: list[str] | None


class LeaseResponse(TypedDict):
    jobs: list[LeasedJob]


class LeasedJob(TypedDict):
    job: Job
    lease_token: str


class _LimitRequired(TypedDict):
    key: str


class Limit(_LimitRequired, total=False):
    running: int | None
    rate: Rate | None


class _LimitPageRequired(TypedDict):
    limits: list[LimitUse]
    has_more: bool


class LimitPage(_LimitPageRequired, total=False):
    next_cursor: str
    warnings: list[str]


class LimitUse(TypedDict):
    queue: str
    key: str
    running: int
    limit: int | None
    rate: Rate | None
    waiting: int
    oldest: str | None


LogLevel = Literal["debug", "info", "warn", "error"]


class _LogLineRequired(TypedDict):
    attempt: int
    seq: int
    at: str
    level: LogLevel
    message: str


class LogLine(_LogLineRequired, total=False):
    fields: dict[str, Any]


class _NewLogLineRequired(TypedDict):
    at: str
    level: LogLevel
    message: str


class NewLogLine(_NewLogLineRequired, total=False):
    fields: dict[str, Any] | None


class _NextRunsRequired(TypedDict):
    next_run_at: list[str]


class NextRuns(_NextRunsRequired, total=False):
    warnings: list[str]


OnFailure = Literal["halt", "skip", "continue"]

OnSuccess = Literal["continue"]

OnTimeout = Literal["fail", "continue"]


class OperationOutcome(TypedDict):
    completed: int
    failed: int
    unfinished: int


class Operation(TypedDict):
    id: str
    action: OperationAction
    filter: OperationFilter | None
    status: OperationStatus
    matched: Count
    done: int
    changed: int
    skipped: int
    outcome: OperationOutcome
    created_at: str
    completed_at: str | None


OperationAction = Literal["cancel_jobs", "replay_dead_letters", "resume_workflows", "run_jobs_now", "rerun_jobs"]


class _OperationCreatedRequired(TypedDict):
    operation_id: str


class OperationCreated(_OperationCreatedRequired, total=False):
    warnings: list[str]


class OperationFilter(TypedDict, total=False):
    status: str
    queue: str
    due: bool
    task: str
    error: str
    workflow_id: str
    idempotency_key: str
    metadata: dict[str, Any]
    queue_name: str
    task_name: str
    reason: DeadLetterReason
    replayed: bool
    job_id: str
    fingerprint: str
    name: str
    created_after: str
    created_before: str


OperationStatus = Literal["running", "completed", "stopped", "failed"]


class _OperationsRequired(TypedDict):
    operations: list[Operation]
    has_more: bool


class Operations(_OperationsRequired, total=False):
    next_cursor: str
    warnings: list[str]


Order = Literal["created_at ASC", "created_at DESC"]

Otherwise = Literal["skip", "continue"]


class PartialJobConfig(TypedDict, total=False):
    priority: int | None
    max_retries: int | None
    timeout_secs: int | None
    retry_backoff: RetryBackoff | None
    retry_delay_secs: int | None
    retry_max_delay_secs: int | None
    jitter_factor: float | None
    limits: list[Limit] | None


PrincipalKind = Literal["tenant", "worker", "admin", "developer"]


class _PutCronRequired(TypedDict):
    cron_expr: str


class PutCron(_PutCronRequired, total=False):
    name: str | None
    timezone: str | None
    task_name: str | None
    workflow: ScheduledWorkflow | None
    payload: dict[str, Any] | None
    queue: str | None
    config: ScheduleJobConfig | None
    overlap: CronOverlap | None


class QueueDepthSettings(TypedDict):
    running: int | None
    rate: Rate | None
    share: QueueShare | None


class QueueDepth(TypedDict):
    queue: str
    pending: int
    scheduled: int
    running: int
    oldest_pending_age_secs: int | None
    retrying: int
    retrying_later: int
    paused_at: str | None
    paused_reason: str | None
    paused_by: str | None
    last_lease_at: str | None
    settings: QueueDepthSettings | None


class QueueDetailSettings(TypedDict):
    running: int | None
    rate: Rate | None
    share: QueueShare | None


class QueueDetailByTaskItem(TypedDict):
    task_name: str
    waiting: int
    scheduled: int
    retrying: int
    retrying_later: int
    running: int


class QueueDetailNextItem(TypedDict):
    id: str
    task_name: str
    priority: int
    scheduled_at: str


class QueueDetailSlots(TypedDict):
    offered: int
    in_use: int


class QueueDetail(TypedDict):
    queue: str
    pending: int
    scheduled: int
    running: int
    oldest_pending_age_secs: int | None
    retrying: int
    retrying_later: int
    paused_at: str | None
    paused_reason: str | None
    paused_by: str | None
    last_lease_at: str | None
    settings: QueueDetailSettings | None
    by_task: list[QueueDetailByTaskItem]
    by_task_exact: bool
    next: list[QueueDetailNextItem]
    slots: QueueDetailSlots | None


class _QueueSettingsRequired(TypedDict):
    queue: str
    running: int | None
    rate: Rate | None
    share: QueueShare | None


class QueueSettings(_QueueSettingsRequired, total=False):
    warnings: list[str]


class QueueSettingsInput(TypedDict, total=False):
    running: int | None
    rate: Rate | None
    share: QueueShare | None


QueueShare = Literal["tenant"]


class _QueuesRequired(TypedDict):
    queues: list[QueueDepth]


class Queues(_QueuesRequired, total=False):
    has_more: bool
    next_cursor: str
    warnings: list[str]


class _RateRequired(TypedDict):
    count: int
    per_secs: int


class Rate(_RateRequired, total=False):
    burst: int | None


class _ReleaseRequestRequired(TypedDict):
    lease_token: str


class ReleaseRequest(_ReleaseRequestRequired, total=False):
    delay_secs: int | None
    logs: list[NewLogLine] | None


class ReplayRequest(TypedDict, total=False):
    keep_checkpoints: bool | list[str] | None


class _ReportRequired(TypedDict):
    job_id: str
    lease_token: str
    outcome: ReportOutcome


class Report(_ReportRequired, total=False):
    result: dict[str, Any] | None
    error: str
    retryable: bool | None
    retry_after_secs: int | None
    details: ErrorDetails | None
    logs: list[NewLogLine] | None
    delay_secs: int | None
    checkpoint: str
    until: str | None
    wait: SuspendWait | None
    traceparent: str | None


ReportOutcome = Literal["completed", "failed", "released", "suspended"]


class ReportsRequest(TypedDict):
    reports: list[Report]


class _ReportsResponseReportsItemRequired(TypedDict):
    job_id: str


class ReportsResponseReportsItem(_ReportsResponseReportsItemRequired, total=False):
    ok: Literal[True]
    code: ErrorCode
    error: str


class ReportsResponse(TypedDict):
    reports: list[ReportsResponseReportsItem]


class ResumeWorkflow(TypedDict, total=False):
    steps: list[str] | None
    context: dict[str, Any] | None
    dry_run: bool | None


RetryBackoff = Literal["fixed", "linear", "exponential"]


class ScheduleJobConfig(TypedDict, total=False):
    priority: int | None
    max_retries: int | None
    timeout_secs: int | None
    retry_backoff: RetryBackoff | None
    retry_delay_secs: int | None
    retry_max_delay_secs: int | None
    jitter_factor: float | None
    limits: list[Limit] | None
    expires_secs: int | None


class _ScheduledWorkflowRequired(TypedDict):
    name: str
    steps: list[WorkflowStepInput]


class ScheduledWorkflow(_ScheduledWorkflowRequired, total=False):
    context: dict[str, Any] | None
    metadata: dict[str, Any] | None


class _SignalAcceptedRequired(TypedDict):
    delivered: bool


class SignalAccepted(_SignalAcceptedRequired, total=False):
    warnings: list[str]


class _SignalRequestRequired(TypedDict):
    name: str
    key: str


class SignalRequest(_SignalRequestRequired, total=False):
    value: Any
    ttl_secs: int | None


SkipReason = Literal["condition", "failure"]


_StepConditionOptionalSpelt = TypedDict(
    "_StepConditionOptionalSpelt",
    {
        "is": "str | float | bool | None",
        "in": "list[str | float | bool | None] | None",
    },
    total=False,
)


class _StepConditionRequired(TypedDict):
    ref: ConditionRef


class StepCondition(_StepConditionRequired, _StepConditionOptionalSpelt, total=False):
    is_not: str | float | bool | None
    otherwise: Otherwise | None


StepStatus = Literal["pending", "running", "completed", "failed", "cancelled", "skipped"]


class _StepWaitRequired(TypedDict):
    signal: str
    timeout_secs: int


class StepWait(_StepWaitRequired, total=False):
    key: str | None
    ask: Ask | None
    on_timeout: OnTimeout | None


class StoredCheckpoint(TypedDict):
    name: str
    value: Any


class _SuspendRequestRequired(TypedDict):
    lease_token: str
    checkpoint: str


class SuspendRequest(_SuspendRequestRequired, total=False):
    until: str | None
    wait: SuspendWait | None
    delay_secs: int | None
    logs: list[NewLogLine] | None


class _SuspendWaitSignalRequired(TypedDict):
    name: str


class SuspendWaitSignal(_SuspendWaitSignalRequired, total=False):
    key: str | None


class SuspendWait(TypedDict, total=False):
    signal: SuspendWaitSignal
    ask: Ask | None
    children: list[str]


class Tasks(TypedDict):
    tasks: list[str]


TerminalJobStatus = Literal["completed", "failed", "cancelled"]


_UniqueRequiredSpelt = TypedDict(
    "_UniqueRequiredSpelt",
    {
        "while": "UniqueWhile",
    },
    total=True,
)


class _UniqueRequired(TypedDict):
    key: str


class Unique(_UniqueRequired, _UniqueRequiredSpelt, total=False):
    on_conflict: UniqueConflict | None
    max_wait_secs: int | None


UniqueConflict = Literal["keep", "replace"]

UniqueWhile = Literal["waiting", "unfinished"]


class Wait(TypedDict):
    job_id: str
    task_name: str
    name: str
    key: str
    ask: Ask | None
    since: str
    until: str
    workflow_id: str | None
    workflow_step_id: str | None


class _WaitRequestRequired(TypedDict):
    job_ids: list[str]


class WaitRequest(_WaitRequestRequired, total=False):
    until: WaitUntil | None
    wait_secs: int | None


class WaitResponseEndedItem(TypedDict):
    id: str
    status: TerminalJobStatus


class WaitResponse(TypedDict):
    ended: list[WaitResponseEndedItem]
    pending: list[str]
    missing: list[str]


WaitUntil = Literal["all", "any"]


class WaitingForChildren(TypedDict):
    total: int
    unfinished: int


class WaitingFor(TypedDict):
    checkpoint: str
    since: str
    until: str
    signal: str | None
    key: str | None
    ask: Ask | None
    children: WaitingForChildren | None


class _WaitsRequired(TypedDict):
    waits: list[Wait]
    has_more: bool


class Waits(_WaitsRequired, total=False):
    next_cursor: str
    warnings: list[str]


class _WhoAmIRequired(TypedDict):
    kind: PrincipalKind
    tenant_id: str | None
    read_only: bool
    dev: bool
    version: str
    default_queue: str
    retention_hours: float | None
    now: str
    trace_url: str | None
    features: list[str]


class WhoAmI(_WhoAmIRequired, total=False):
    expires_at: str
    read_by: str


class WhyLimit(TypedDict):
    key: str
    running: int
    limit: int


class _WhyRequired(TypedDict):
    reason: WhyReason
    message: str


class Why(_WhyRequired, total=False):
    until: str
    ahead: int
    limit: WhyLimit
    last_lease_at: str


WhyReason = Literal[
    "due_later",
    "retry_backoff",
    "sleeping",
    "waiting_for_signal",
    "waiting_for_children",
    "behind",
    "no_worker",
    "no_handler",
    "queue_paused",
    "limited",
    "rate_limited",
    "waiting_for_its_turn",
    "running",
    "ended",
]


class WorkerRunningJobsItem(TypedDict):
    id: str
    task_name: str
    queue: str
    started_at: str


class Worker(TypedDict):
    worker_id: str
    queue_name: str
    running: int
    running_jobs: list[WorkerRunningJobsItem]
    first_seen_at: str
    last_seen_at: str
    completed: int
    failed: int
    expired: int
    slots: int | None
    in_use: int | None
    tasks: list[str] | None


class _WorkersRequired(TypedDict):
    workers: list[Worker]


class Workers(_WorkersRequired, total=False):
    warnings: list[str]


class Workflow(TypedDict):
    id: str
    name: str
    status: WorkflowStatus
    steps: list[WorkflowStepDefinition]
    context: dict[str, Any]
    metadata: dict[str, Any]
    created_at: str
    started_at: str | None
    completed_at: str | None
    tenant_id: str


class _WorkflowCreatedRequired(TypedDict):
    workflow_id: str


class WorkflowCreated(_WorkflowCreatedRequired, total=False):
    warnings: list[str]


class WorkflowDiagram(TypedDict):
    format: Literal["mermaid"]
    diagram: str


class WorkflowEvent(TypedDict):
    workflow: Workflow
    steps: list[WorkflowStep]


class _WorkflowPageRequired(TypedDict):
    workflows: list[Workflow]
    limit: int
    offset: int
    has_more: bool


class WorkflowPage(_WorkflowPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]
    searched_to: str


class _WorkflowResumedRequired(TypedDict):
    workflow_id: str
    steps: list[str]


class WorkflowResumed(_WorkflowResumedRequired, total=False):
    warnings: list[str]


WorkflowStatus = Literal["created", "running", "completed", "failed", "partially_failed", "cancelled"]


class WorkflowStatusEvent(TypedDict):
    event: Literal["status"]
    data: WorkflowEvent


class WorkflowStep(TypedDict):
    name: str
    status: StepStatus
    job_id: str | None
    started_at: str | None
    completed_at: str | None
    attempts: int
    error_message: str | None
    next_retry_at: str | None
    run: int
    earlier_job_ids: list[str]
    skipped_by: SkipReason | None


class _WorkflowStepDefinitionRequired(TypedDict):
    name: str
    task_name: str
    payload: dict[str, Any]
    depends_on: list[str]
    config: PartialJobConfig
    on_failure: OnFailure
    on_success: OnSuccess
    metadata: dict[str, Any]
    queue: str | None


class WorkflowStepDefinition(_WorkflowStepDefinitionRequired, total=False):
    when: StepCondition
    wait: StepWait


class _WorkflowStepInputRequired(TypedDict):
    name: str


class WorkflowStepInput(_WorkflowStepInputRequired, total=False):
    task_name: str | None
    when: StepCondition | None
    wait: StepWait | None
    payload: dict[str, Any] | None
    depends_on: list[str] | None
    queue: str | None
    config: PartialJobConfig | None
    on_failure: OnFailure | None
    on_success: OnSuccess | None
    metadata: dict[str, Any] | None


class WorkflowSteps(TypedDict):
    steps: list[WorkflowStep]


class WorkflowSummaryStepsByStatus(TypedDict):
    pending: int
    running: int
    completed: int
    failed: int
    cancelled: int
    skipped: int


class WorkflowSummaryFailedStep(TypedDict):
    name: str
    error: str | None


class WorkflowSummary(TypedDict):
    id: str
    name: str
    status: WorkflowStatus
    metadata: dict[str, Any]
    created_at: str
    started_at: str | None
    completed_at: str | None
    tenant_id: str
    steps_total: int
    steps_ended: int
    steps_by_status: WorkflowSummaryStepsByStatus
    failed_step: WorkflowSummaryFailedStep | None


class _WorkflowSummaryPageRequired(TypedDict):
    workflows: list[WorkflowSummary]
    limit: int
    offset: int
    has_more: bool


class WorkflowSummaryPage(_WorkflowSummaryPageRequired, total=False):
    next_cursor: str
    prev_cursor: str
    total: int
    warnings: list[str]
    searched_to: str
