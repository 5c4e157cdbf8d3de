import { afterAll, describe, expect, it } from 'vitest';
import { createClient, type Client } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { startAnotherServer } from '../another-server.js';
import { newQueue } from '../kit.js';

/** A repeat under the same key that asks for something else: answered as ever, and told so. */
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const other = await startAnotherServer(database, { mode: 'api' });
const { a } = server;
const a2 = createClient(other.apiUrl!, KEY_A);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const send = (path: string, body: unknown, key: string, { client = a, headers = {} }: Options = {}) =>
  client.send('POST', `/api/v1${path}`, { body, headers: { 'idempotency-key': key, ...headers } });
interface Options {
  readonly client?: Client;
  readonly headers?: Readonly<Record<string, string>>;
}
const told = ({ headers }: { readonly headers: Headers }): (string | null)[] => [
  headers.get('idempotency-replayed'),
  headers.get('idempotency-mismatch'),
];
const SAME = ['true', null];
const OTHER = ['true', 'true'];
const job = (fields: object = {}): object => ({ task_name: 't', payload: { n: 1 }, config: { queue: 'q' }, ...fields });

describe('a create under a key', () => {
  it('is told that the same request was sent before, however it is written', async () => {
    const key = newQueue();
    const first = await send('/jobs', '{"task_name":"t","payload":{"n":1},"config":{"queue":"q"}}', key);
    expect(told(first)).toEqual([null, null]);
    const second = await send('/jobs', '{ "config": {"queue":"q"}, "payload":{"n":1}, "task_name":"t" }', key);
    expect(told(second)).toEqual(SAME);
    expect(told(await send('/jobs', job(), key, { client: a2 }))).toEqual(SAME);
    expect(second.body).toEqual(first.body);
  });

  it.each<[string, object]>([
    ['another task', { task_name: 'u' }],
    ['another payload', { payload: { n: 2 } }],
    ['another queue', { config: { queue: 'r' } }],
    ['another policy', { config: { queue: 'q', max_retries: 9 } }],
    ['another instant', { delay_secs: 60 }],
    ['other metadata', { metadata: { by: 'me' } }],
  ])('is told of %s', async (_, fields) => {
    const key = newQueue();
    const first = await send('/jobs', job(), key);
    const second = await send('/jobs', job(fields), key, { client: a2 });
    expect([second.status, second.body, told(second)]).toEqual([first.status, first.body, OTHER]);
    // What stands is the first one.
    expect(told(await send('/jobs', job(), key))).toEqual(SAME);
  });

  it('takes no notice of the trace that a repeat belongs to', async () => {
    const key = newQueue();
    const trace = (n: number) => ({ traceparent: `00-${'0af7651916cd43dd8448eb211c80319'}${n}-b7ad6b7169203331-01` });
    await send('/jobs', job(), key, { headers: trace(1) });
    expect(told(await send('/jobs', job(), key, { headers: trace(2) }))).toEqual(SAME);
  });

  it('is told in every kind of create', async () => {
    const flow = (name: string) => ({ name, steps: [{ name: 'one', task_name: 't', queue: 'q' }] });
    for (const [path, body, another] of [
      ['/workflows', flow('w'), flow('v')],
      ['/jobs/batch', { jobs: [job(), job()] }, { jobs: [job(), job({ payload: {} })] }],
    ] as const) {
      const key = newQueue();
      const first = await send(path, body, key);
      expect(first.status, first.text).toBe(201);
      expect(told(await send(path, body, key, { client: a2 }))).toEqual(SAME);
      const second = await send(path, another, key);
      expect([second.body, told(second)]).toEqual([first.body, OTHER]);
    }
  });

  it('is told of items of a batch that have keys of their own', async () => {
    const [one, two] = [newQueue(), newQueue()];
    const item = (idempotency_key: string, n: number) => job({ idempotency_key, payload: { n } });
    const batch = (...jobs: object[]) => a.post('/api/v1/jobs/batch', { jobs });
    const first = await batch(item(one, 1), item(two, 2));
    expect(first.status, first.text).toBe(201);
    const second = await batch(item(one, 1), item(two, 3));
    expect(second.body.job_ids).toEqual(first.body.job_ids);
    expect(second.body).toMatchObject({ replayed: [0, 1] });
    expect(told(second)[1]).toBe('true');
    expect(told(await batch(item(one, 1), item(two, 2)))[1]).toBeNull();
    // One job is one job, sent alone or in a batch.
    expect(told(await send('/jobs', job({ payload: { n: 1 } }), one))).toEqual(SAME);
    expect(told(await send('/jobs', job({ payload: { n: 1 } }), two))).toEqual(OTHER);
  });

  it('is not told where nobody knows what the first request was', async () => {
    const key = newQueue();
    await send('/jobs', job(), key);
    await database.query('UPDATE millrace.idempotency_keys SET digest = NULL WHERE key = $1', [key]);
    expect(told(await send('/jobs', job({ payload: {} }), key))).toEqual(SAME);
  });
});
