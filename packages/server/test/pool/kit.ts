import { expect } from 'vitest';
import type { Client } from '../support/client.js';
import type { TestDatabase } from '../support/database.js';

const BATCH = 1_000;

/** So many thousand jobs on a queue. */
export async function createMany(client: Client, total: number, queue: string, task_name: string): Promise<void> {
  for (let n = 0; n < total; n += BATCH) {
    const jobs = Array.from({ length: Math.min(BATCH, total - n) }, () => ({ task_name, config: { queue } }));
    const reply = await client.post('/api/v1/jobs/batch', { jobs });
    expect(reply.status, reply.text).toBe(201);
  }
}

export async function count(database: TestDatabase, table: string, condition: string): Promise<number> {
  const [row] = await database.query<{ n: number }>(`SELECT count(*)::int AS n FROM ${table} WHERE ${condition}`);
  return row!.n;
}
