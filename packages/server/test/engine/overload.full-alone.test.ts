import { afterAll, expect, it } from 'vitest';
import type { Reply } from '../support/client.js';
import { oneDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { DEADLINES } from '../../src/store/connection/session.js';
import { startTestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** From inside, overload looks like a database that stands still: nothing that was admitted ends. */
const ROOM = 8;
const database = await oneDatabase();
const proxy = await startProxy(database.url);
const server = await startTestServer({
  intervals: { deadlines: DEADLINES },
  database: { ...database, url: proxy.url },
  config: { mode: 'api', maxInFlight: ROOM },
});
afterAll(async () => {
  await proxy.close();
  await server.stop();
  await database.drop();
});

const inFlight = async (): Promise<number> => {
  const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
  return Number(/^millrace_requests_in_flight\{load="new"\} (\d+)/m.exec(page)?.[1]);
};

it('what was admitted is answered once the database resumes, and the rest was told to retry', async () => {
  const create = (): Promise<Reply> => server.a.post('/api/v1/jobs', { task_name: 'work', config: { queue: 'q' } });
  await create();
  const leased = await server.worker.post('/api/v1/queues/q/lease', { lease_secs: 3_600 });
  const [{ job, lease_token }] = leased.body.jobs as [{ job: { id: string }; lease_token: string }];

  proxy.freeze();
  // Again and again: they fail after some seconds, which may pass before anybody looks.
  let isFrozen = true;
  const answers: Reply[] = [];
  const hold = async (): Promise<void> => {
    do answers.push(await create());
    while (isFrozen);
  };
  const admitted = Array.from({ length: ROOM }, hold);
  await until(async () => (await inFlight()) === ROOM, { what: 'the service to be full' });
  const refused = await until(
    async () => [await create()].find(({ body }) => String(body.error).includes('overloaded')),
    { what: 'a refusal' },
  );
  expect(refused.status).toBe(503);
  expect((await server.nobody.get('/health')).status).toBe(200);
  // A report does not queue behind new work: it waits for the database alone.
  const completed = server.worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token });

  isFrozen = false;
  await proxy.restore();
  await Promise.all(admitted);
  for (const { status } of answers) expect([201, 503]).toContain(status);
  expect([204, 503]).toContain((await completed).status);
  await until(async () => (await create()).status === 201, { what: 'new work to be taken again' });
  const again = await server.worker.post(`/api/v1/jobs/${job.id}/complete`, { lease_token });
  expect(again.status).toBe(204);
  // Everything that was acknowledged is there.
  for (const { status, body } of answers)
    if (status === 201) expect((await server.a.get(`/api/v1/jobs/${body.job_id}`)).status).toBe(200);
});
