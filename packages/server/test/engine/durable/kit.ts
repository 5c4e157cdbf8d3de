import { expect } from 'vitest';
import type { Client, Reply } from '../../support/client.js';
import { report, type Leased } from '../kit.js';

/** Short names for what tests of durable jobs do. */
export const store = (worker: Client, leased: Leased, name: string, value: unknown): Promise<Reply> =>
  report(worker, 'checkpoints', leased, { name, value });

export const suspend = (worker: Client, leased: Leased, fields: object): Promise<Reply> =>
  report(worker, 'suspend', leased, fields);

export const signal = (client: Client, fields: object, key?: string): Promise<Reply> =>
  client.send('POST', '/api/v1/signals', {
    body: fields,
    ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
  });

export async function checkpointsOf(client: Client, id: string): Promise<Record<string, unknown>> {
  const reply = await client.get(`/api/v1/jobs/${id}/checkpoints`);
  expect(reply.status, reply.text).toBe(200);
  const stored = reply.body.checkpoints as { name: string; value: unknown }[];
  return Object.fromEntries(stored.map(({ name, value }) => [name, value]));
}

/** What the worker that holds a job reads. */
export const readAsWorker = (worker: Client, { job, lease_token }: Leased): Promise<Reply> =>
  worker.send('GET', `/api/v1/jobs/${job.id}/checkpoints`, { headers: { 'Lease-Token': lease_token } });
