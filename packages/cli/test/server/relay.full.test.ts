import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installOutbox } from '@millrace/server';
import { emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { spawnMillrace } from '../../../server/test/support/processes.js';
import { freePort } from '../../../server/test/support/free-port.js';
import { KEY_A, startTestServer, type TestServer } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';

describe('millrace relay', () => {
  let application: TestDatabase;
  let service: TestServer;
  beforeAll(async () => {
    application = await emptyDatabase();
    await installOutbox(application.url, { app: [], relay: [] });
    service = await startTestServer({ config: { mode: 'api' } });
  });
  afterAll(async () => {
    await service.stop();
    await application.drop();
  });

  const relay = (token: string, from = application.url) =>
    spawnMillrace({
      args: ['relay', '--metrics-port=0', '--host=127.0.0.1', '--log-format=json'],
      env: { MILLRACE_OUTBOX_URL: from, MILLRACE_URL: service.url, MILLRACE_TOKEN: token },
    });
  const waiting = (): Promise<unknown[]> => application.query('SELECT FROM millrace_outbox.entries');

  it('relays, answers probes, and ends with SIGTERM', async () => {
    const running = relay(KEY_A);
    await application.query(`SELECT millrace_outbox.enqueue('t', queue => 'relayed')`);
    await until(async () => (await waiting()).length === 0, { what: 'the entry to be relayed' });
    const { metrics } = (await running.logged(({ msg }) => msg === 'relaying')) as { metrics: string };
    expect((await fetch(`${metrics}/health`)).status).toBe(200);
    await until(async () => (await fetch(`${metrics}/ready`)).status === 200, { what: 'it to be ready' });
    // The entry is gone a moment before the relay hears so.
    const page = async (): Promise<string> => (await fetch(`${metrics}/metrics`)).text();
    await until(async () => /^millrace_outbox_relayed_total 1$/m.test(await page()), { what: 'it to be counted' });
    running.signal('SIGTERM');
    expect((await running.exited).code).toBe(0);
    expect((await service.a.get('/api/v1/jobs?queue=relayed')).body.jobs).toHaveLength(1);
  });

  it("waits while the application's database is away, from the start on", async () => {
    const nobody = `postgres://127.0.0.1:${await freePort()}/app`;
    const running = relay(KEY_A, nobody);
    const { metrics } = (await running.logged(({ msg }) => msg === 'relaying')) as { metrics: string };
    expect((await fetch(`${metrics}/ready`)).status).toBe(503);
    expect(await (await fetch(`${metrics}/metrics`)).text()).toMatch(/^millrace_outbox_relay_up 0$/m);
    running.signal('SIGTERM');
    expect((await running.exited).code).toBe(0);
  });

  it('exits with 1 where there is no outbox', async () => {
    const empty = await emptyDatabase();
    const running = relay(KEY_A, empty.url);
    expect((await running.exited).code).toBe(1);
    expect(running.stderr()).toContain('millrace outbox install creates it');
    await empty.drop();
  });

  it('exits with 1 if its token is refused, keeps the entries, and shows nobody the token', async () => {
    await application.query(`SELECT millrace_outbox.enqueue('t')`);
    const running = relay('nobody-knows-this-token');
    expect((await running.exited).code).toBe(1);
    expect(running.stdout()).toContain('every entry is kept');
    expect(running.stdout()).not.toContain('nobody-knows-this-token');
    expect(await waiting()).toHaveLength(1);
  });
});
