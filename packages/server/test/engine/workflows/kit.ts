import { TERMINAL_WORKFLOW_STATUSES } from '@millrace/contract';
import { expect } from 'vitest';
import type { Client, Reply } from '../../support/client.js';

/** A workflow over HTTP, as its tenant sees it. */
export interface ShownStep {
  readonly name: string;
  readonly status: string;
  readonly job_id: string | null;
}

export interface WorkflowsOfTenant {
  /** Steps, or a whole request. */
  create(body: readonly object[] | object): Promise<string>;
  get(id: string): Promise<any>;
  status(id: string): Promise<string>;
  steps(id: string): Promise<ShownStep[]>;
  /** Status by name of step. */
  statuses(id: string): Promise<Record<string, string>>;
  jobId(id: string, step: string): Promise<string>;
  job(id: string, step: string): Promise<any>;
  cancel(id: string): Promise<void>;
  cancelJob(id: string, step: string): Promise<void>;
}

export const TERMINAL: readonly string[] = TERMINAL_WORKFLOW_STATUSES;

export function workflowsOf(client: Client): WorkflowsOfTenant {
  const steps = async (id: string): Promise<ShownStep[]> =>
    ok(await client.get(`/api/v1/workflows/${id}/steps`)).body.steps;
  const jobId = async (id: string, step: string): Promise<string> => {
    const found = (await steps(id)).find(({ name }) => name === step);
    expect(found?.job_id, `the job of ${step}`).toBeTruthy();
    return found!.job_id!;
  };
  const get = async (id: string): Promise<any> => ok(await client.get(`/api/v1/workflows/${id}`)).body;
  return {
    steps,
    jobId,
    get,
    create: async (body) => {
      const request = Array.isArray(body) ? { name: 'test', steps: body } : body;
      const reply = await client.post('/api/v1/workflows', request);
      expect(reply.status, reply.text).toBe(201);
      return reply.body.workflow_id;
    },
    status: async (id) => (await get(id)).status,
    statuses: async (id) => Object.fromEntries((await steps(id)).map(({ name, status }) => [name, status])),
    job: async (id, step) => ok(await client.get(`/api/v1/jobs/${await jobId(id, step)}`)).body,
    cancel: async (id) => void ok(await client.post(`/api/v1/workflows/${id}/cancel`)),
    cancelJob: async (id, step) => void ok(await client.post(`/api/v1/jobs/${await jobId(id, step)}/cancel`)),
  };
}

export function ok(reply: Reply): Reply {
  expect(reply.status, reply.text).toBeLessThan(300);
  return reply;
}

export interface Leased {
  readonly job: any;
  readonly lease_token: string;
}

/** A remote worker that takes whatever is on the queue and holds it until the test says how it ends. */
export interface Hand {
  /** Steps of the workflow whose jobs are held after taking all there is, by name. */
  held(workflow: string): Promise<string[]>;
  take(workflow: string, step: string): Promise<Leased>;
  /** `result` as an object, or as the text of one. */
  complete(workflow: string, step: string, result?: object | string): Promise<void>;
  fail(workflow: string, step: string, report?: object): Promise<void>;
}

export function hand(worker: Client, queue = 'default'): Hand {
  const jobs = new Map<string, Leased>();
  const key = (workflow: string, step: string): string => `${workflow} ${step}`;
  const gather = async (): Promise<void> => {
    for (let more = true; more;) {
      const leased = ok(await worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 100, lease_secs: 3_600 })).body
        .jobs as Leased[];
      for (const each of leased) jobs.set(key(each.job.workflow_id, each.job.workflow_step_id), each);
      more = leased.length === 100;
    }
  };
  /** One at a time: of two that ask at once, the one that gets nothing may be answered before the one that gets all. */
  let gathering: Promise<void> = Promise.resolve();
  const inTurn = (body: () => Promise<void>): Promise<void> =>
    (gathering = gathering.catch(() => undefined).then(body));
  const take = async (workflow: string, step: string): Promise<Leased> => {
    const isHere = (): boolean => jobs.has(key(workflow, step));
    if (!isHere()) await inTurn(async () => void (isHere() || (await gather())));
    const leased = jobs.get(key(workflow, step));
    expect(leased, `${step} is on the queue`).toBeDefined();
    jobs.delete(key(workflow, step));
    return leased!;
  };
  return {
    take,
    held: async (workflow) => {
      await inTurn(gather);
      const prefix = key(workflow, '');
      return [...jobs.keys()].filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
    },
    complete: async (workflow, step, result = {}) => {
      const { job, lease_token: token } = await take(workflow, step);
      ok(await completeJob(worker, job.id, token, result));
    },
    fail: async (workflow, step, report = {}) => {
      const { job, lease_token: token } = await take(workflow, step);
      const body = { lease_token: token, error: 'it broke', retryable: false, ...report };
      ok(await worker.post(`/api/v1/jobs/${job.id}/fail`, body));
    },
  };
}

export function completeJob(worker: Client, id: string, token: string, result: object | string = {}): Promise<Reply> {
  const text = typeof result === 'string' ? result : JSON.stringify(result);
  return worker.post(`/api/v1/jobs/${id}/complete`, `{"lease_token":"${token}","result":${text}}`);
}

/** Steps in a row, each depending on the one before it. */
export const chain = (...names: string[]): object[] =>
  names.map((name, n) => ({ name, task_name: 't', ...(n > 0 && { depends_on: [names[n - 1]] }) }));

export const step = (name: string, dependsOn: readonly string[] = [], more: object = {}): object => ({
  name,
  task_name: 't',
  depends_on: dependsOn,
  ...more,
});
