import { afterAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../../engine/another-server.js';

/** Whoever creates a job that no process of the service runs is told so. One process runs tasks, one only serves. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { workers: 1 }, handlers: { known: () => ({}) } });
const other = await startAnotherServer(database, { mode: 'api' });
const { a } = server;
const elsewhere = createClient(other.apiUrl!, KEY_A);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

/** What a process runs it says soon after its start. */
const registered = `SELECT FROM millrace.processes WHERE 'known' = ANY (tasks)`;
await until(async () => (await database.query(registered)).length === 1, { what: 'the tasks to be registered' });

const warning = (task: string): string =>
  `no server process has registered the task ${task}; remote workers lease from queues that you name in config.queue`;
const warningsOf = async (path: string, body: object, client: Client = a): Promise<string[] | undefined> => {
  const reply = await client.post(`/api/v1${path}`, body);
  expect(reply.status, reply.text).toBe(201);
  return reply.body.warnings;
};

describe('a job that no process runs', () => {
  it.each([
    ['the process that runs the others', a],
    ['one that runs nothing', elsewhere],
  ])('is warned of by %s', async (_, client) => {
    expect(await warningsOf('/jobs', { task_name: 'resize' }, client)).toEqual([warning('resize')]);
    expect(await warningsOf('/jobs', { task_name: 'known' }, client)).toBeUndefined();
  });

  it('is nobody’s business on a queue that is named', async () => {
    expect(await warningsOf('/jobs', { task_name: 'resize', config: { queue: 'images' } })).toBeUndefined();
  });

  it('is warned of once in a batch, and of many only the first are named', async () => {
    const of = (...names: string[]) => ({ jobs: names.map((task_name) => ({ task_name })) });
    expect(await warningsOf('/jobs/batch', of('b', 'known', 'b', 'c'))).toEqual([warning('b'), warning('c')]);
    const many = Array.from({ length: 30 }, (_, n) => `t${n}`);
    expect(await warningsOf('/jobs/batch', of(...many))).toHaveLength(10);
  });

  it('is created all the same, even by whoever wants to be strict', async () => {
    const reply = await a.post('/api/v1/jobs', { task_name: 'resize' }, { prefer: 'handling=strict' });
    expect([reply.status, reply.body.warnings]).toEqual([201, [warning('resize')]]);
  });

  it('is warned of in steps of workflows too', async () => {
    const steps = [
      { name: 'one', task_name: 'known' },
      { name: 'two', task_name: 'resize', depends_on: ['one'] },
      { name: 'three', task_name: 'crop', queue: 'images', depends_on: ['one'] },
    ];
    expect(await warningsOf('/workflows', { name: 'w', steps })).toEqual([warning('resize')]);
  });
});

describe('where no process runs anything', () => {
  it('nobody is warned: everything is for remote workers', async () => {
    const bare = await cloneDatabase();
    const only = await startAnotherServer(bare, { mode: 'api' });
    try {
      expect(await warningsOf('/jobs', { task_name: 'resize' }, createClient(only.apiUrl!, KEY_A))).toBeUndefined();
    } finally {
      await only.stop();
      await bare.drop();
    }
  });
});
