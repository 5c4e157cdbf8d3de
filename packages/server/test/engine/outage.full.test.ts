import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { oneDatabase, type TestDatabase } from '../support/database.js';
import { startProxy, type Proxy } from '../support/proxy.js';
import { DEADLINES } from '../../src/store/connection/session.js';
import { startTestServer, type TestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** A database that goes away and comes back. */
describe.each(['cut', 'frozen'] as const)('while the database is %s', (fault) => {
  let database: TestDatabase;
  let proxy: Proxy;
  let server: TestServer;

  const lose = (): Promise<void> | void => (fault === 'cut' ? proxy.cut() : proxy.freeze());
  const isReady = async (): Promise<boolean> => (await server.nobody.get('/ready')).status === 200;

  beforeAll(async () => {
    database = await oneDatabase();
    proxy = await startProxy(database.url);
    server = await startTestServer({ database: { ...database, url: proxy.url }, intervals: { deadlines: DEADLINES } });
  });

  afterAll(async () => {
    // The proxy first: connections that it holds frozen would count as leaked by the server.
    await proxy.close();
    await server.stop();
    await database.drop();
  });

  it('requests get 503 in bounded time, the process stays up, and everything resumes by itself', async () => {
    const before = await server.a.post('/api/v1/jobs', { task_name: 'sleep', payload: { duration_ms: 1 } });
    expect(before.status).toBe(201);
    await lose();

    const [create, list, lease, ready, health] = await Promise.all([
      server.a.post('/api/v1/jobs', { task_name: 'echo' }),
      server.a.get('/api/v1/jobs'),
      server.worker.post('/api/v1/queues/elsewhere/lease', { wait_secs: 30 }),
      server.nobody.get('/ready'),
      server.nobody.get('/health'),
    ]);
    for (const answer of [create, list, lease, ready]) {
      expect(answer.status).toBe(503);
      expect(answer.body).toMatchObject({ code: 'unavailable' });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(health.status).toBe(200);

    await proxy.restore();
    await until(isReady, { what: 'the server to be ready again' });
    const after = await server.a.post('/api/v1/jobs', { task_name: 'echo', payload: { n: 1 } });
    expect(after.status).toBe(201);
    await until(async () => (await server.a.get(`/api/v1/jobs/${after.body.job_id}`)).body.status === 'completed', {
      what: 'the pool to work again',
    });
  });

  it.runIf(fault === 'cut')('logs once that the database is away and once that it is back', () => {
    const [away, back] = ['the database is out of reach', 'the database answers again'];
    const said = server.log().flatMap(({ msg }) => (msg === away || msg === back ? [msg] : []));
    // On a machine that is held up it may have been out of reach for a moment before or afterwards, too.
    expect(said.length).toBeGreaterThanOrEqual(2);
    expect(said).toEqual(said.map((_, n) => (n % 2 ? back : away)));
  });
});
