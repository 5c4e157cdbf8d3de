/** The work is the same for every contender: a small payload, a handler that does nothing, a small result. */
export const TASK = 'noop';
export const PAYLOAD = { user: 1234567, kind: 'mail' };
export const PAYLOAD_TEXT = JSON.stringify(PAYLOAD);
/** As it is created over HTTP. */
export const JOB = { task_name: TASK, payload: PAYLOAD };
export const JOB_TEXT = JSON.stringify(JOB);
export const RESULT = { ok: true };
export const RESULT_TEXT = JSON.stringify(RESULT);

export const TENANT = 'bench';
export const TENANT_KEY = 'key-of-the-benchmark-tenant-4c1f';
export const WORKER_TOKEN = 'token-of-the-benchmark-workers-9e02';
export const ADMIN_TOKEN = 'token-of-the-benchmark-operator-71b8';
/** Signs the tokens of tenants where there are more than one. */
export const JWT_SECRET = 'secret-of-the-benchmark-tokens-51d3b7';
export const tenantName = (n: number): string => (n === 0 ? TENANT : `tenant-${n}`);
export const QUEUE = 'default';

/** How many jobs go into one call or statement, where more than one is possible. */
export const BATCH = 1_000;
/** How many calls each contender has in flight while it enqueues. */
export const CALLS_IN_FLIGHT = 4;
