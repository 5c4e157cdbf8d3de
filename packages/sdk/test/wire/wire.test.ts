import type * as Contract from '@millrace/contract';
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type * as Wire from '../../src/wire/index.js';

/** Two shapes are the same if their fields are, whatever they extend. */
type Flat<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends readonly (infer E)[]
    ? Flat<E>[]
    : string extends keyof T
      ? T
      : { [K in keyof T]: Flat<T[K]> };
type Equal<A, B> = (<T>() => T extends Flat<A> ? 1 : 2) extends <T>() => T extends Flat<B> ? 1 : 2 ? true : false;

/** The compiler refuses this list if a shape differs from its namesake in the contract, in whichever direction. */
const SAME: {
  JobStatus: Equal<Wire.JobStatus, Contract.JobStatus>;
  TerminalJobStatus: Equal<Wire.TerminalJobStatus, Contract.TerminalJobStatus>;
  WorkflowStatus: Equal<Wire.WorkflowStatus, Contract.WorkflowStatus>;
  StepStatus: Equal<Wire.StepStatus, Contract.StepStatus>;
  OnFailure: Equal<Wire.OnFailure, Contract.OnFailure>;
  RetryBackoff: Equal<Wire.RetryBackoff, Contract.RetryBackoff>;
  Feature: Equal<Wire.Feature, Contract.Feature>;
  ErrorCode: Equal<Wire.ErrorCode, Contract.ErrorCode>;
  ErrorDetail: Equal<Wire.ErrorDetail, Contract.ErrorDetail>;
  ErrorBody: Equal<Wire.ErrorBody, Contract.ErrorBody>;
  JobConfig: Equal<Wire.JobConfig, Contract.JobConfig>;
  PartialJobConfig: Equal<Wire.PartialJobConfig, Contract.PartialJobConfig>;
  UniqueInput: Equal<Wire.UniqueInput, Contract.UniqueInput>;
  ScheduleJobConfig: Equal<Wire.ScheduleJobConfig, Contract.ScheduleJobConfig>;
  JobConfigInput: Equal<Wire.JobConfigInput, Contract.JobConfigInput>;
  Job: Equal<Wire.Job, Contract.Job>;
  CreateJob: Equal<Wire.CreateJob, Contract.CreateJob>;
  CreateJobBatch: Equal<Wire.CreateJobBatch, Contract.CreateJobBatch>;
  JobCreated: Equal<Wire.JobCreated, Contract.JobCreated>;
  JobBatchCreated: Equal<Wire.JobBatchCreated, Contract.JobBatchCreated>;
  WaitRequest: Equal<Wire.WaitRequest, Contract.WaitRequest>;
  WaitResponse: Equal<Wire.WaitResponse, Contract.WaitResponse>;
  WhoAmI: Equal<Wire.WhoAmI, Contract.WhoAmI>;
  LeaseRequest: Equal<Wire.LeaseRequest, Contract.LeaseRequest>;
  LeasedJob: Equal<Wire.LeasedJob, Contract.LeasedJob>;
  LeaseResponse: Equal<Wire.LeaseResponse, Contract.LeaseResponse>;
  HeartbeatRequest: Equal<Wire.HeartbeatRequest, Contract.HeartbeatRequest>;
  HeartbeatResponse: Equal<Wire.HeartbeatResponse, Contract.HeartbeatResponse>;
  HeartbeatsRequest: Equal<Wire.HeartbeatsRequest, Contract.HeartbeatsRequest>;
  HeartbeatsResponse: Equal<Wire.HeartbeatsResponse, Contract.HeartbeatsResponse>;
  ErrorDetails: Equal<Wire.ErrorDetails, Contract.ErrorDetails>;
  CompleteRequest: Equal<Wire.CompleteRequest, Contract.CompleteRequest>;
  FailRequest: Equal<Wire.FailRequest, Contract.FailRequest>;
  ReleaseRequest: Equal<Wire.ReleaseRequest, Contract.ReleaseRequest>;
  Report: Equal<Wire.Report, Contract.Report>;
  ReportsRequest: Equal<Wire.ReportsRequest, Contract.ReportsRequest>;
  ReportsResponse: Equal<Wire.ReportsResponse, Contract.ReportsResponse>;
  JobPage: Equal<Wire.JobPage, Contract.JobPage>;
  WorkflowPage: Equal<Wire.WorkflowPage, Contract.WorkflowPage>;
  CronPage: Equal<Wire.CronPage, Contract.CronPage>;
  CronFiringPage: Equal<Wire.CronFiringPage, Contract.CronFiringPage>;
  DeadLetterPage: Equal<Wire.DeadLetterPage, Contract.DeadLetterPage>;
  Attempt: Equal<Wire.Attempt, Contract.Attempt>;
  Attempts: Equal<Wire.Attempts, Contract.Attempts>;
  Why: Equal<Wire.Why, Contract.Why>;
  LimitInput: Equal<Wire.LimitInput, Contract.LimitInput>;
  LimitUse: Equal<Wire.LimitUse, Contract.LimitUse>;
  LimitPage: Equal<Wire.LimitPage, Contract.LimitPage>;
  WorkflowStepInput: Equal<Wire.WorkflowStepInput, Contract.WorkflowStepInput>;
  CreateWorkflow: Equal<Wire.CreateWorkflow, Contract.CreateWorkflow>;
  WorkflowCreated: Equal<Wire.WorkflowCreated, Contract.WorkflowCreated>;
  WorkflowStepDefinition: Equal<Wire.WorkflowStepDefinition, Contract.WorkflowStepDefinition>;
  Workflow: Equal<Wire.Workflow, Contract.Workflow>;
  WorkflowStep: Equal<Wire.WorkflowStep, Contract.WorkflowStep>;
  WorkflowSteps: Equal<Wire.WorkflowSteps, Contract.WorkflowSteps>;
  WorkflowEvent: Equal<Wire.WorkflowEvent, Contract.WorkflowEvent>;
  WorkflowDiagram: Equal<Wire.WorkflowDiagram, Contract.WorkflowDiagram>;
  ResumeWorkflow: Equal<Wire.ResumeWorkflow, Contract.ResumeWorkflow>;
  WorkflowResumed: Equal<Wire.WorkflowResumed, Contract.WorkflowResumed>;
  PutCron: Equal<Wire.PutCron, Contract.PutCron>;
  CronCreated: Equal<Wire.CronCreated, Contract.CronCreated>;
  Cron: Equal<Wire.Cron, Contract.Cron>;
  CronFiring: Equal<Wire.CronFiring, Contract.CronFiring>;
  CronTriggered: Equal<Wire.CronTriggered, Contract.CronTriggered>;
  NextRuns: Equal<Wire.NextRuns, Contract.NextRuns>;
  CronPreview: Equal<Wire.CronPreview, Contract.CronPreview>;
  DeadLetterReason: Equal<Wire.DeadLetterReason, Contract.DeadLetterReason>;
  DeadLetter: Equal<Wire.DeadLetter, Contract.DeadLetter>;
  DeadLetterGroup: Equal<Wire.DeadLetterGroup, Contract.DeadLetterGroup>;
  DeadLetterGroups: Equal<Wire.DeadLetterGroups, Contract.DeadLetterGroups>;
  Count: Equal<Wire.Count, Contract.Count>;
  OperationFilter: Equal<Wire.OperationFilter, Contract.OperationFilter>;
  CreateOperation: Equal<Wire.CreateOperation, Contract.CreateOperation>;
  OperationCreated: Equal<Wire.OperationCreated, Contract.OperationCreated>;
  DryRun: Equal<Wire.DryRun, Contract.DryRun>;
  Operation: Equal<Wire.Operation, Contract.Operation>;
  Operations: Equal<Wire.Operations, Contract.Operations>;
  QueueDepth: Equal<Wire.QueueDepth, Contract.QueueDepth>;
  Queues: Equal<Wire.Queues, Contract.Queues>;
  QueueDetail: Equal<Wire.QueueDetail, Contract.QueueDetail>;
  Worker: Equal<Wire.Worker, Contract.Worker>;
  Workers: Equal<Wire.Workers, Contract.Workers>;
  Tasks: Equal<Wire.Tasks, Contract.Tasks>;
  AuditEntry: Equal<Wire.AuditEntry, Contract.AuditEntry>;
  AuditPage: Equal<Wire.AuditPage, Contract.AuditPage>;
  CheckpointRequest: Equal<Wire.CheckpointRequest, Contract.CheckpointRequest>;
  StoredCheckpoint: Equal<Wire.StoredCheckpoint, Contract.StoredCheckpoint>;
  Checkpoint: Equal<Wire.Checkpoint, Contract.Checkpoint>;
  Checkpoints: Equal<Wire.Checkpoints, Contract.Checkpoints>;
  Ask: Equal<Wire.Ask, Contract.Ask>;
  SuspendRequest: Equal<Wire.SuspendRequest, Contract.SuspendRequest>;
  WaitingFor: Equal<Wire.WaitingFor, Contract.WaitingFor>;
  SignalRequest: Equal<Wire.SignalRequest, Contract.SignalRequest>;
  JobSignalRequest: Equal<Wire.JobSignalRequest, Contract.JobSignalRequest>;
  SignalAccepted: Equal<Wire.SignalAccepted, Contract.SignalAccepted>;
  Wait: Equal<Wire.Wait, Contract.Wait>;
  Waits: Equal<Wire.Waits, Contract.Waits>;
  ChildJob: Equal<Wire.ChildJob, Contract.ChildJob>;
  ChildrenRequest: Equal<Wire.ChildrenRequest, Contract.ChildrenRequest>;
  ChildrenCreated: Equal<Wire.ChildrenCreated, Contract.ChildrenCreated>;
  LogLevel: Equal<Wire.LogLevel, Contract.LogLevel>;
  NewLogLine: Equal<Wire.NewLogLine, Contract.NewLogLine>;
  LogLine: Equal<Wire.LogLine, Contract.LogLine>;
  JobLogs: Equal<Wire.JobLogs, Contract.JobLogs>;
  JobSummary: Equal<Wire.JobSummary, Contract.JobSummary>;
  EndedJobs: Equal<Wire.EndedJobs, Contract.EndedJobs>;
  ReplayRequest: Equal<Wire.ReplayRequest, Contract.ReplayRequest>;
  RateInput: Equal<Wire.RateInput, Contract.RateInput>;
  CronOverlap: Equal<Wire.CronOverlap, Contract.CronOverlap>;
  ScheduledWorkflow: Equal<Wire.ScheduledWorkflow, Contract.ScheduledWorkflow>;
  Otherwise: Equal<Wire.Otherwise, Contract.Otherwise>;
  OnTimeout: Equal<Wire.OnTimeout, Contract.OnTimeout>;
  Scalar: Equal<Wire.Scalar, Contract.Scalar>;
  SkipReason: Equal<Wire.SkipReason, Contract.SkipReason>;
  StepCondition: Equal<Wire.StepCondition, Contract.StepCondition>;
  StepWait: Equal<Wire.StepWait, Contract.StepWait>;
} = {
  LogLevel: true,
  NewLogLine: true,
  LogLine: true,
  JobLogs: true,
  JobSummary: true,
  EndedJobs: true,
  ReplayRequest: true,
  RateInput: true,
  CronOverlap: true,
  ScheduledWorkflow: true,
  Otherwise: true,
  OnTimeout: true,
  Scalar: true,
  SkipReason: true,
  StepCondition: true,
  StepWait: true,
  ChildJob: true,
  ChildrenRequest: true,
  ChildrenCreated: true,
  CheckpointRequest: true,
  StoredCheckpoint: true,
  Checkpoint: true,
  Checkpoints: true,
  Ask: true,
  SuspendRequest: true,
  WaitingFor: true,
  SignalRequest: true,
  JobSignalRequest: true,
  SignalAccepted: true,
  Wait: true,
  Waits: true,
  JobStatus: true,
  TerminalJobStatus: true,
  WorkflowStatus: true,
  StepStatus: true,
  OnFailure: true,
  RetryBackoff: true,
  Feature: true,
  ErrorCode: true,
  ErrorDetail: true,
  ErrorBody: true,
  JobConfig: true,
  PartialJobConfig: true,
  UniqueInput: true,
  ScheduleJobConfig: true,
  JobConfigInput: true,
  Job: true,
  CreateJob: true,
  CreateJobBatch: true,
  JobCreated: true,
  JobBatchCreated: true,
  WaitRequest: true,
  WaitResponse: true,
  WhoAmI: true,
  LeaseRequest: true,
  LeasedJob: true,
  LeaseResponse: true,
  HeartbeatRequest: true,
  HeartbeatResponse: true,
  HeartbeatsRequest: true,
  HeartbeatsResponse: true,
  ErrorDetails: true,
  CompleteRequest: true,
  FailRequest: true,
  ReleaseRequest: true,
  Report: true,
  ReportsRequest: true,
  ReportsResponse: true,
  JobPage: true,
  WorkflowPage: true,
  CronPage: true,
  CronFiringPage: true,
  DeadLetterPage: true,
  Attempt: true,
  Attempts: true,
  Why: true,
  LimitInput: true,
  LimitUse: true,
  LimitPage: true,
  WorkflowStepInput: true,
  CreateWorkflow: true,
  WorkflowCreated: true,
  WorkflowStepDefinition: true,
  Workflow: true,
  WorkflowStep: true,
  WorkflowSteps: true,
  WorkflowEvent: true,
  WorkflowDiagram: true,
  ResumeWorkflow: true,
  WorkflowResumed: true,
  PutCron: true,
  CronCreated: true,
  Cron: true,
  CronFiring: true,
  CronTriggered: true,
  NextRuns: true,
  CronPreview: true,
  DeadLetterReason: true,
  DeadLetter: true,
  DeadLetterGroup: true,
  DeadLetterGroups: true,
  Count: true,
  OperationFilter: true,
  CreateOperation: true,
  OperationCreated: true,
  DryRun: true,
  Operation: true,
  Operations: true,
  QueueDepth: true,
  Queues: true,
  QueueDetail: true,
  Worker: true,
  Workers: true,
  Tasks: true,
  AuditEntry: true,
  AuditPage: true,
};

describe('the shapes on the wire', () => {
  it('are those of the contract, every one that has a namesake there', () => {
    const own = readdirSync(new URL('../../src/wire/', import.meta.url)).flatMap((file) =>
      namesIn(`../../src/wire/${file}`, /^export (?:interface|type)(?: \{)? (\w+)/gm),
    );
    const contract = readdirSync(new URL('../../../contract/src/', import.meta.url)).flatMap((file) =>
      namesIn(`../../../contract/src/${file}`, /^export type (\w+)/gm),
    );
    expect(Object.keys(SAME).sort()).toEqual(own.filter((name) => contract.includes(name)).sort());
  });
});

function namesIn(path: string, pattern: RegExp): string[] {
  const text = readFileSync(new URL(path, import.meta.url), 'utf8');
  return [...text.matchAll(pattern)].map((match) => match[1] ?? '');
}
