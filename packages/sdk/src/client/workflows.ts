import { milliseconds, type Duration } from '../shared/duration.js';
import { InvalidRequestError, MillraceError } from '../errors/call-errors.js';
import type { ServerEvent } from '../http/event-stream.js';
import { isObject, type JsonObject } from '../json/object.js';
import { WorkflowCancelledError, WorkflowFailedError } from '../errors/outcome-errors.js';
import { defined } from '../task/policy.js';
import { stepOf, workflowOf, type Workflow, type WorkflowStep } from '../records/workflows.js';
import type * as Wire from '../wire/index.js';
import type { AnyWorkflow, ResumeOptions, WorkflowHandle, WorkflowOut } from '../workflow/types.js';
import { definitionFor, grouped } from '../workflow/workflow.js';
import { withHook } from './enqueue.js';
import { listing, listQuery, pageOf, type Listing, type ListFilter } from './listing.js';
import { create, read, segment, type Session } from './session.js';
import { Signals } from './signals.js';
import { DEFAULT_WAIT, TimeLimit, waitFor } from './wait.js';
import { watch, type Seen } from './watch.js';

interface Signal {
  signal?: AbortSignal;
}

/** Options of starting a workflow. */
export interface StartOptions extends Signal {
  /** Makes the call repeatable across processes: the same key starts one workflow. */
  key?: string;
  metadata?: JsonObject;
}

/** Which workflows a list holds. */
export interface WorkflowFilter extends ListFilter {
  status?: Wire.WorkflowStatus;
  name?: string;
}

export async function startWorkflow(
  session: Session,
  workflow: AnyWorkflow,
  input: unknown,
  { key, metadata = {}, signal }: StartOptions = {},
): Promise<WorkflowHandle<unknown>> {
  const { steps: plain, context } = await definitionFor(workflow, input);
  const steps = plain.map((step) => {
    // A step that waits creates no job of the caller's.
    const task = step.task_name ?? null;
    if (task === null) return step;
    const hooked = withHook(session, task, step.metadata ?? {});
    return Object.keys(hooked).length > 0 ? { ...step, metadata: hooked } : step;
  });
  if (steps.some(({ when, wait }) => (when ?? wait ?? null) !== null) && !(await session.features.has('step_rules')))
    throw new InvalidRequestError(
      `this server is too old for the workflow ${workflow.name}: its steps cannot decide or wait`,
      {
        code: 'invalid_request',
      },
    );
  const body: Wire.CreateWorkflow = {
    name: workflow.name,
    steps,
    ...(context !== undefined && { context }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  };
  const request = { path: '/workflows', body, key, signal, keyFeature: 'idempotency' } as const;
  return workflowHandle(session, workflow, (await create<Wire.WorkflowCreated>(session, request)).workflow_id);
}

/** Workflows by id, and lists of them: `millrace.workflows`. */
export class Workflows {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  get(id: string, { signal }: Signal = {}): Promise<Workflow> {
    return getWorkflow(this.#session, id, signal);
  }

  /** A workflow that was started elsewhere, with the types of its results. Makes no call. */
  handle<W extends AnyWorkflow>(workflow: W, id: string): WorkflowHandle<WorkflowOut<W>> {
    return workflowHandle(this.#session, workflow, id) as WorkflowHandle<WorkflowOut<W>>;
  }

  /** Workflows, the newest first. */
  list(filter: WorkflowFilter = {}): Listing<Workflow> {
    const query = defined({ ...listQuery(filter), status: filter.status, name: filter.name });
    return listing(filter.limit, async (cursor) => {
      const page = await read<Wire.WorkflowPage>(this.#session, '/workflows', { ...query, cursor }, filter.signal);
      return pageOf(page, page.workflows, workflowOf);
    });
  }

  /** Its steps, in the order of their definition. */
  steps(id: string, { signal }: Signal = {}): Promise<WorkflowStep[]> {
    return getSteps(this.#session, id, signal);
  }

  /**
   * Cancels a workflow and every step of it that has not ended.
   *
   * @throws AlreadyFinishedError if it has ended
   */
  cancel(id: string, { signal }: Signal = {}): Promise<void> {
    return cancelWorkflow(this.#session, id, signal);
  }

  /**
   * Lets a workflow that failed, failed in part or was cancelled go on. Returns the steps that run again.
   *
   * @throws ConflictError if it has not ended, or completed
   */
  resume(id: string, options?: ResumeOptions): Promise<string[]> {
    return resumeWorkflow(this.#session, id, options);
  }

  /** Mermaid source: one node per step, coloured by its status. */
  async diagram(id: string, { signal }: Signal = {}): Promise<string> {
    const path = `/workflows/${segment(id)}/diagram`;
    return (await read<Wire.WorkflowDiagram>(this.#session, path, {}, signal)).diagram;
  }
}

export function workflowHandle(session: Session, workflow: AnyWorkflow, id: string): WorkflowHandle<unknown> {
  return {
    id,
    status: async ({ signal } = {}) => (await getWorkflow(session, id, signal)).status,
    get: ({ signal } = {}) => getWorkflow(session, id, signal),
    steps: ({ signal } = {}) => getSteps(session, id, signal),
    result: async (options) => grouped(workflow, await workflowResult(session, id, options)),
    watch: ({ signal } = {}) => ({ [Symbol.asyncIterator]: () => watchWorkflow(session, id, signal) }),
    cancel: ({ signal } = {}) => cancelWorkflow(session, id, signal),
    resume: (options) => resumeWorkflow(session, id, options),
    signal: (name, value, options) => new Signals(session).sendToWorkflow(id, name, value, options),
  };
}

async function getWorkflow(session: Session, id: string, signal?: AbortSignal): Promise<Workflow> {
  return workflowOf(await read<Wire.Workflow>(session, `/workflows/${segment(id)}`, {}, signal));
}

async function getSteps(session: Session, id: string, signal?: AbortSignal): Promise<WorkflowStep[]> {
  const { steps } = await read<Wire.WorkflowSteps>(session, `/workflows/${segment(id)}/steps`, {}, signal);
  return steps.map(stepOf);
}

async function cancelWorkflow(session: Session, id: string, signal?: AbortSignal): Promise<void> {
  const path = `/workflows/${segment(id)}/cancel`;
  await session.transport.call({ method: 'POST', path, signal, doneIf: ['already_finished'] });
}

async function resumeWorkflow(
  session: Session,
  id: string,
  { from, context, dryRun, key, signal }: ResumeOptions = {},
): Promise<string[]> {
  const path = `/workflows/${segment(id)}/resume`;
  const body: Wire.ResumeWorkflow = defined({ steps: from && [...from], context, dry_run: dryRun });
  const request = { path, body, key, signal, keyFeature: 'idempotency' } as const;
  return (await create<Wire.WorkflowResumed>(session, request)).steps;
}

const hasEnded = (status: Wire.WorkflowStatus): boolean => status !== 'created' && status !== 'running';

/** Workflows have no long poll; the pauses between the questions grow to two seconds. */
async function workflowResult(
  session: Session,
  id: string,
  { timeout, signal }: { timeout?: Duration; signal?: AbortSignal } = {},
): Promise<JsonObject> {
  const path = `/workflows/${segment(id)}`;
  const record = await waitFor({
    what: `the workflow ${id}`,
    limit: new TimeLimit(milliseconds(timeout ?? DEFAULT_WAIT), session.clock),
    signal,
    longPolls: false,
    ask: async () => {
      const { body } = await session.transport.call<Wire.Workflow>({ method: 'GET', path, signal, attempts: 1 });
      return hasEnded(body.status) ? body : undefined;
    },
  });
  return resultsOf(workflowOf(record), await getSteps(session, id, signal));
}

/**
 * The results by step. Only steps that have completed are looked up: a key of another step's result may have the name
 * of one that failed.
 */
function resultsOf(workflow: Workflow, steps: readonly WorkflowStep[]): JsonObject {
  if (workflow.status === 'failed') throw new WorkflowFailedError(workflow, steps);
  if (workflow.status === 'cancelled') throw new WorkflowCancelledError(workflow);
  const completed = steps.filter((step) => step.status === 'completed');
  return Object.fromEntries(completed.map(({ name }) => [name, workflow.context[name]]));
}

interface Change {
  workflow: Workflow;
  steps: WorkflowStep[];
}

async function* watchWorkflow(session: Session, id: string, signal?: AbortSignal): AsyncGenerator<Change, void> {
  try {
    yield* watch(session.transport, `/workflows/${segment(id)}/events`, changeOf, signal);
  } catch (error) {
    // A server before 0.3 has no such stream. If there is no such workflow either, the first question says so.
    if (!(error instanceof MillraceError) || error.code !== 'not_found') throw error;
    yield* pollWorkflow(session, id, signal);
  }
}

function changeOf({ event, data }: ServerEvent): Seen<Change> | null {
  const parsed: unknown = JSON.parse(data);
  if (event !== 'status' || !isObject(parsed)) return null;
  const { workflow, steps } = parsed as unknown as Wire.WorkflowEvent;
  const state = { workflow: workflowOf(workflow), steps: steps.map(stepOf) };
  return { state, last: hasEnded(workflow.status), text: data };
}

/** Like a stream, it ends without an error when the signal aborts. */
async function* pollWorkflow(session: Session, id: string, signal?: AbortSignal): AsyncGenerator<Change, void> {
  for (let before = ''; ;) {
    const seen = await waitFor({
      what: `the workflow ${id}`,
      limit: new TimeLimit(Number.MAX_SAFE_INTEGER, session.clock),
      signal,
      longPolls: false,
      ask: async () => {
        const steps = await getSteps(session, id, signal);
        const now = { workflow: await getWorkflow(session, id, signal), steps };
        const written = JSON.stringify(now);
        return written === before ? undefined : { state: now, text: written };
      },
    }).catch((error: unknown) => {
      if (signal?.aborted === true) return null;
      throw error;
    });
    if (seen === null) return;
    yield seen.state;
    if (hasEnded(seen.state.workflow.status)) return;
    before = seen.text;
  }
}
