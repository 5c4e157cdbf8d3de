import type { DeadLetter, Operation } from '@millrace/contract';
import { expect } from 'vitest';
import type { Client, Reply } from '../../support/client.js';
import { until } from '../../support/until.js';
import { createJobs, fail, lease } from '../kit.js';

/** What tests of bulk operations do, through HTTP. */
export const post = (client: Client, body: object): Promise<Reply> => client.post('/api/v1/operations', body);

export async function begin(client: Client, body: object): Promise<string> {
  const reply = await post(client, body);
  expect(reply.status, reply.text).toBe(202);
  expect(reply.body).toEqual({ operation_id: expect.any(String) });
  expect(reply.headers.get('location')).toBe(`/api/v1/operations/${reply.body.operation_id}`);
  return reply.body.operation_id as string;
}

export async function getOperation(client: Client, id: string): Promise<Operation> {
  const reply = await client.get(`/api/v1/operations/${id}`);
  expect(reply.status, reply.text).toBe(200);
  return reply.body as Operation;
}

export const ended = (client: Client, id: string): Promise<Operation> =>
  until(
    async () => {
      const operation = await getOperation(client, id);
      return operation.status !== 'running' ? operation : `${operation.done} of ${operation.matched.n} are done`;
    },
    { what: `operation ${id} to end` },
  );

export const perform = async (client: Client, body: object): Promise<Operation> =>
  ended(client, await begin(client, body));

/** Dead letters of so many jobs on a queue, oldest first. */
export async function bury(client: Client, worker: Client, queue: string, count: number): Promise<DeadLetter[]> {
  await createJobs(client, queue, count);
  const leased = await lease(worker, queue, { max_jobs: count });
  for (const each of leased) await fail(worker, each, { retryable: false, error: 'broken' });
  const { body } = await client.get(`/api/v1/dlq?queue_name=${queue}&limit=100&order_by=created_at%20ASC`);
  expect(body.dead_letters).toHaveLength(count);
  return body.dead_letters as DeadLetter[];
}
