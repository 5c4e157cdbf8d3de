import {
  CreateOperation,
  deadLetterFilterFields,
  jobFilterFields,
  jobMetadataFilter,
  METADATA_PREFIX,
  NAME_MAX_LENGTH,
  OPERATION_IDS_LIMITS,
  workflowFilterFields,
  type OperationAction,
} from '@millrace/contract';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField, invalidRequest, MillraceError } from '../../domain/errors.js';
import { isUuid } from '../../domain/ids.js';
import { keptCheckpoints } from '../../domain/kept-checkpoints.js';
import type { DeadLetterFilter, JobFilter, WorkflowScope } from '../../domain/filters.js';
import type { OperationSelection, OperationSpec } from '../../domain/operations.js';
import { characterCount } from '../../domain/text.js';
import { deadLetterListQuery, jobListQuery, workflowListQuery, type QueryParameters } from './list-parameters.js';
import { boundNames } from './replay-input.js';

/**
 * What a bulk operation is to work on. Unlike elsewhere, a name that means nothing is refused: a change to everything
 * that matches must not leave out a condition, or happen at all, because a word was misspelt.
 */
const FIELDS = Object.keys(CreateOperation.properties);
const CREATED = ['created_after', 'created_before'];
const JOB_FILTERS = [...Object.keys(jobFilterFields), ...Object.keys(jobMetadataFilter), ...CREATED];
const FILTERS: Readonly<Record<OperationAction, readonly string[]>> = {
  cancel_jobs: JOB_FILTERS,
  run_jobs_now: JOB_FILTERS,
  rerun_jobs: JOB_FILTERS,
  replay_dead_letters: [...Object.keys(deadLetterFilterFields), ...CREATED],
  resume_workflows: [...Object.keys(workflowFilterFields), ...CREATED],
};
const WORKED_ON: Readonly<Record<OperationAction, string>> = {
  cancel_jobs: 'jobs',
  run_jobs_now: 'jobs',
  rerun_jobs: 'jobs',
  replay_dead_letters: 'dead letters',
  resume_workflows: 'workflows',
};

const DEAD_LETTER_ID = /^[1-9]\d{0,15}$/;

/** A request that passed validation, as the engine expects it. */
export function operationSpec(body: CreateOperation): OperationSpec {
  const kept = keptCheckpoints(body.keep_checkpoints);
  const spec = { ...selected(body), kept };
  if (kept !== null && spec.action !== 'replay_dead_letters')
    throw invalidField('keep_checkpoints', 'goes with replay_dead_letters');
  return spec;
}

function selected(body: CreateOperation): OperationSelection {
  const member = Object.keys(body).find((name) => !FIELDS.includes(name));
  if (member !== undefined) throw invalidField(member.slice(0, 64), 'is not a known field');
  const { action, filter, ids } = body;
  if (filter === undefined && !ids) throw invalidField('filter', 'is required, unless ids are given');
  if (filter !== undefined && ids) throw invalidField('ids', 'cannot be given together with a filter');
  if (ids) return { action, ids: ids.map((id, n) => itemId(action, id, n)) };
  const given = { ...filter } as QueryParameters;
  checkNames(action, given);
  const query = asQuery(given);
  const text = JSON.stringify(given);
  const found = { ids: null, filter: text } as const;
  switch (action) {
    case 'cancel_jobs':
    case 'run_jobs_now':
    case 'rerun_jobs':
      return { action, ...found, scope: inFilter(() => jobScope(query)) };
    case 'replay_dead_letters':
      return { action, ...found, scope: inFilter(() => deadLetterScope(query)) };
    case 'resume_workflows':
      return { action, ...found, scope: inFilter(() => workflowScope(query)) };
  }
}

/** Runs before the validator checks each id: the validator reports every problem, and this bounds their number. */
export function boundIds(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { ids } = (request.body ?? {}) as { ids?: unknown };
  if (!Array.isArray(ids) || ids.length <= OPERATION_IDS_LIMITS.maximum) return boundNames(request, reply, done);
  done(invalidField('ids', `must have at most ${OPERATION_IDS_LIMITS.maximum} items`));
}

function itemId(action: OperationAction, id: string, n: number): string {
  if (action !== 'replay_dead_letters') {
    if (!isUuid(id))
      throw invalidField(`ids[${n}]`, `must be the id of a ${action === 'resume_workflows' ? 'workflow' : 'job'}`);
    return id.toLowerCase();
  }
  if (!DEAD_LETTER_ID.test(id) || !Number.isSafeInteger(Number(id)))
    throw invalidField(`ids[${n}]`, 'must be the id of a dead letter');
  return id;
}

function checkNames(action: OperationAction, filter: QueryParameters): void {
  const names = Object.keys(filter);
  if (names.length === 0) throw invalidField('filter', 'must name at least one condition');
  const known = FILTERS[action];
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const message = `is not a filter of ${WORKED_ON[action]}; those are ${known.join(', ')}`;
  const details = unknown.slice(0, 20).map((name) => ({ path: `filter.${name.slice(0, 64)}`, message }));
  throw invalidRequest(`${details[0]!.path} ${message}`, details);
}

/** What a list calls `metadata.source` is a member of its own here. */
function flat({ metadata, ...filter }: QueryParameters): Record<string, unknown> {
  if (metadata === undefined) return filter;
  const fields = Object.entries(metadata as unknown as Record<string, string>);
  return { ...filter, ...Object.fromEntries(fields.map(([field, value]) => [METADATA_PREFIX + field, value])) };
}

/** The values as a query string would have them. Names are bounded everywhere, so longer text could match nothing. */
function asQuery(filter: QueryParameters): QueryParameters {
  return Object.fromEntries(
    Object.entries(flat(filter)).map(([name, value]) => {
      const text = String(value);
      if (characterCount(text) > NAME_MAX_LENGTH)
        throw invalidField(`filter.${name}`, `must have at most ${NAME_MAX_LENGTH} characters`);
      return [name, text];
    }),
  );
}

function jobScope(query: QueryParameters): JobFilter {
  const { statuses, queue, task, due = null, error, metadata, ...more } = jobListQuery(query);
  const { workflowId, idempotencyKey, createdAfter, createdBefore } = more;
  return {
    ...{ statuses, queue, task, workflowId, idempotencyKey, createdAfter, createdBefore },
    // Left out where they say nothing: older programs may go on with the operation.
    ...(due !== null && { due }),
    ...(error !== null && { error }),
    ...(metadata !== null && { metadata }),
  };
}

function deadLetterScope(query: QueryParameters): DeadLetterFilter {
  const { queue, task, reason, replayed, jobId, fingerprint, createdAfter, createdBefore } = deadLetterListQuery(query);
  return { queue, task, reason, replayed, jobId, fingerprint, createdAfter, createdBefore };
}

function workflowScope(query: QueryParameters): WorkflowScope {
  const { status, name, createdAfter, createdBefore } = workflowListQuery(query);
  return { status, name, createdAfter, createdBefore };
}

/** What is wrong with a value is said with the path that it has here. */
function inFilter<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MillraceError)) throw error;
    const details = error.details?.map(({ path, message }) => ({ path: `filter.${path}`, message }));
    throw new MillraceError(error.code, `filter.${error.message}`, details);
  }
}
