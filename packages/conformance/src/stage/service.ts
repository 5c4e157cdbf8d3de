/** The server behind the proxy, as a tenant sees it. */
export interface Service {
  /** Creates a job from JSON text, so that its numbers arrive as they were written. */
  createJob(body: string): Promise<string>;
  createJobs(bodies: readonly string[]): Promise<string[]>;
  createWorkflow(body: unknown): Promise<string>;
  job(id: string): Promise<JobRecord>;
  stepJobs(workflowId: string): Promise<ReadonlyMap<string, string | null>>;
  cancel(id: string): Promise<void>;
  /** Ends a sleep. */
  runNow(id: string): Promise<void>;
  /** To one job; resolves to whether it has taken it. */
  signal(id: string, name: string, value: unknown): Promise<boolean>;
  checkpoints(id: string): Promise<ReadonlyMap<string, unknown>>;
  /** As its worker would. */
  storeCheckpoint(id: string, token: string, name: string, value: unknown): Promise<void>;
}

export interface JobRecord {
  readonly status: 'pending' | 'running' | 'retrying' | 'completed' | 'failed' | 'cancelled';
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error_message: string | null;
  readonly delivery_count: number;
  readonly retry_count: number;
}

/** Any token will do: the server runs with `--dev`. */
const TENANT_TOKEN = 'conformance-tenant';

export function connectService(url: string): Service {
  const call = async (method: string, path: string, body?: string): Promise<unknown> => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${TENANT_TOKEN}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text.slice(0, 300)}`);
    return text === '' ? null : JSON.parse(text);
  };
  return {
    createJob: async (body) => ((await call('POST', '/jobs', body)) as { job_id: string }).job_id,
    createJobs: async (bodies) =>
      ((await call('POST', '/jobs/batch', `{"jobs":[${bodies.join()}]}`)) as { job_ids: string[] }).job_ids,
    createWorkflow: async (body) =>
      ((await call('POST', '/workflows', JSON.stringify(body))) as { workflow_id: string }).workflow_id,
    job: async (id) => (await call('GET', `/jobs/${id}`)) as JobRecord,
    stepJobs: async (id) => {
      const { steps } = (await call('GET', `/workflows/${id}/steps`)) as {
        steps: { name: string; job_id: string | null }[];
      };
      return new Map(steps.map((step) => [step.name, step.job_id]));
    },
    cancel: async (id) => void (await call('POST', `/jobs/${id}/cancel`)),
    runNow: async (id) => void (await call('POST', `/jobs/${id}/run-now`)),
    signal: async (id, name, value) => {
      const body = JSON.stringify({ value });
      return ((await call('POST', `/jobs/${id}/signals/${name}`, body)) as { delivered: boolean }).delivered;
    },
    checkpoints: async (id) => {
      const { checkpoints } = (await call('GET', `/jobs/${id}/checkpoints`)) as {
        checkpoints: { name: string; value: unknown }[];
      };
      return new Map(checkpoints.map(({ name, value }) => [name, value]));
    },
    storeCheckpoint: async (id, token, name, value) =>
      void (await call('POST', `/jobs/${id}/checkpoints`, JSON.stringify({ lease_token: token, name, value }))),
  };
}
