import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { installOutbox } from '../../src/store/outbox/installation.js';
import { outboxStatus } from '../../src/store/outbox/upkeep.js';
import { lease, newQueue } from '../engine/kit.js';
import { emptyDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { KEY_A, KEY_B, startTestServer, useTestServer, type TestServer } from '../support/server.js';
import { startTransactionPooler } from '../support/transaction-pooler.js';
import { until } from '../support/until.js';
import {
  drained,
  enqueuing,
  jobsOf,
  payloadNumbers,
  session,
  startTestRelay,
  upTo,
  useApplicationDatabase,
} from './kit.js';

const service = await useTestServer({ config: { mode: 'api' } });
const application = await useApplicationDatabase();
const { a, url } = service;
const { put, many } = enqueuing(application);

describe('a relay', () => {
  it('starts workflows', async () => {
    const name = `flow ${newQueue()}`;
    const relay = await startTestRelay(application.url, url);
    const request = { name, steps: [{ name: 's', task_name: 't', queue: newQueue() }] };
    for (let n = 0; n < 2; n++) await put(`enqueue_workflow($1, key => $2)`, [JSON.stringify(request), name]);
    await put(`enqueue_workflow($1)`, [JSON.stringify({ name, steps: [{ name: 's' }] })]);
    await drained(application);
    await relay.stop();
    const { body } = await a.get(`/api/v1/workflows?name=${encodeURIComponent(name)}`);
    expect(body.workflows).toHaveLength(1);
    expect((await outboxStatus(application.url)).refusals[0]).toMatchObject({ task: null, code: 'invalid_request' });
    await application.query('DELETE FROM millrace_outbox.refused');
  });

  it('takes up what a relay held that died, and not before', async () => {
    const queue = newQueue();
    await many(queue, 2);
    // One relay has been silent for longer than it may, the other will not have been however long this takes.
    await application.query(
      `INSERT INTO millrace_outbox.claims (taken_at, last, seqs)
       SELECT CASE payload ->> 'n' WHEN '1' THEN now() + interval '1 hour' ELSE now() - interval '31 seconds' END,
              seq, ARRAY[seq]
       FROM millrace_outbox.entries`,
    );
    const relay = await startTestRelay(application.url, url);
    await until(async () => (await jobsOf(a, queue)).length > 0, { what: 'the entry that was held for 31 s' });
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual([2]);
    await application.query(`UPDATE millrace_outbox.claims SET taken_at = now() - interval '31 seconds'`);
    await drained(application);
    await relay.stop();
    expect(await jobsOf(a, queue)).toHaveLength(2);
  });

  it('shares an outbox with others, under load: one job per entry', async () => {
    const queue = newQueue();
    const relays = await Promise.all(upTo(3).map(() => startTestRelay(application.url, url)));
    await Promise.all(upTo(6).map((n) => many(queue, 700, n * 1000)));
    await drained(application);
    await Promise.all(relays.map((relay) => relay.stop()));
    const numbers = payloadNumbers(await jobsOf(a, queue));
    expect([numbers.length, new Set(numbers).size]).toEqual([4200, 4200]);
  });

  it('waits while the service is away, holds nothing meanwhile, and goes on', async () => {
    const queue = newQueue();
    const proxy = await startProxy(url);
    const relay = await startTestRelay(application.url, proxy.url);
    await until(() => relay.relay.ready, { what: 'the relay to be ready' });
    await proxy.cut();
    await many(queue, 10);
    await until(() => relay.log().some(({ msg }) => String(msg).includes('service is away')), { what: 'the outage' });
    expect(relay.relay.ready).toBe(false);
    await until(async () => (await application.query(`SELECT FROM millrace_outbox.claims`)).length === 0, {
      what: 'the entries to be put back',
    });
    // No connection was made: they count as never tried.
    expect(await application.query('SELECT FROM millrace_outbox.entries WHERE tried_at IS NULL')).toHaveLength(10);
    await proxy.restore();
    await drained(application);
    // The outbox is empty a moment before the relay hears so.
    await until(() => relay.log().some(({ msg }) => String(msg).includes('service is back')), {
      what: 'the end of it',
    });
    await relay.stop();
    await proxy.close();
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual(upTo(10));
  });

  it('sends again what a busy service did not take', async () => {
    const queue = newQueue();
    let refused = 0;
    const busy = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (request.method === 'POST' && ++refused <= 2)
          return void response.writeHead(503, { 'retry-after': '0' }).end('{"error":"busy","code":"unavailable"}');
        void fetch(new URL(request.url!, url), {
          method: request.method!,
          headers: { authorization: request.headers.authorization!, 'content-type': 'application/json' },
          ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
        }).then(async (answer) => response.writeHead(answer.status).end(await answer.text()));
      });
    });
    await new Promise<void>((resolve) => busy.listen(0, '127.0.0.1', resolve));
    await many(queue, 5);
    const { port } = busy.address() as AddressInfo;
    const relay = await startTestRelay(application.url, `http://127.0.0.1:${port}`);
    await drained(application);
    await relay.stop();
    busy.close();
    busy.closeAllConnections();
    expect(refused).toBeGreaterThan(2);
    expect(relay.counts).toEqual({ relayed: 5, refused: 0 });
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual(upTo(5));
  });

  it('needs no more rights than its role is given', async () => {
    const [queue, role] = [newQueue(), `relay_${randomBytes(4).toString('hex')}`];
    await application.query(`CREATE ROLE ${role}`);
    await installOutbox(application.url, { app: [], relay: [role] });
    const from = new URL(application.url);
    from.searchParams.set('options', `-c role=${role}`);
    await many(queue, 3);
    await put(`enqueue('t', queue => $1, config => '{"max_retries": 1001}')`, [queue]);
    const relay = await startTestRelay(from.href, url);
    await drained(application);
    await relay.stop();
    expect([relay.counts, await relay.relay.ended()]).toEqual([{ relayed: 3, refused: 1 }, null]);
    await application.query(`DELETE FROM millrace_outbox.refused; DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  it('belongs to the tenant of its token', async () => {
    const queue = newQueue();
    const relay = await startTestRelay(application.url, url, KEY_B);
    await many(queue, 1);
    await drained(application);
    await relay.stop();
    expect([await jobsOf(a, queue), (await jobsOf(service.b, queue)).length]).toEqual([[], 1]);
  });

  it('works through a pooler in transaction mode, where it hears nothing', async () => {
    const queue = newQueue();
    const pooler = await startTransactionPooler(application.url);
    const relay = await startTestRelay(pooler.url, url);
    await many(queue, 30);
    await drained(application);
    await many(queue, 1, 31);
    await drained(application);
    await relay.stop();
    await pooler.close();
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual(upTo(31));
  });
});

describe('notifications', () => {
  it('are sent only while a relay wants them', async () => {
    const listener = await session(application);
    const heard: string[] = [];
    listener.on('notification', ({ payload }) => heard.push(payload ?? ''));
    await listener.query('LISTEN millrace_outbox');
    await put(`enqueue('t')`);
    await listener.query('SELECT');
    expect(heard).toEqual([]);
    const relay = await startTestRelay(application.url, url);
    await until(
      async () => (await application.query('SELECT FROM millrace_outbox.relays WHERE told_until > now()')).length === 1,
      { what: 'the relay to be idle' },
    );
    heard.length = 0;
    // Again and again: it is told for some seconds each time, which may be over before the next line.
    await until(async () => (await put(`enqueue('t')`), heard.includes('')), { what: 'a notification' });
    await drained(application);
    await relay.stop();
    expect(await application.query('SELECT FROM millrace_outbox.relays')).toEqual([]);
    await listener.end();
  });
});

describe('serve --outbox', () => {
  const metric = async (server: TestServer, name: string): Promise<string | undefined> => {
    const page = await (await fetch(`${server.metricsUrl}/metrics`)).text();
    return new RegExp(`^millrace_outbox_${name} (.*)$`, 'm').exec(page)?.[1];
  };

  it('relays within the process of the service, and shows how far it is', async () => {
    const queue = newQueue();
    const own = await startTestServer({ config: { mode: 'all', outbox: application.url, outboxToken: KEY_A } });
    await many(queue, 3);
    await drained(application);
    expect(await lease(own.worker, queue, { max_jobs: 10 })).toHaveLength(3);
    for (const [name, value] of Object.entries({
      relayed_total: '3',
      waiting: '0',
      oldest_age_seconds: '0',
      relay_up: '1',
    }))
      await until(async () => (await metric(own, name)) === value, { what: `${name} to be ${value}` });
    await own.stop();
  });

  it("starts while the application's database is away, and relays once it is back", async () => {
    const queue = newQueue();
    const proxy = await startProxy(application.url);
    await proxy.cut();
    const own = await startTestServer({ config: { mode: 'api', outbox: proxy.url, outboxToken: KEY_A } });
    expect((await own.a.post('/api/v1/jobs', { task_name: 't', config: { queue } })).status).toBe(201);
    expect([await metric(own, 'relay_up'), await metric(own, 'waiting')]).toEqual(['0', undefined]);
    await many(queue, 2);
    await proxy.restore();
    await drained(application);
    await until(async () => (await metric(own, 'relay_up')) === '1', { what: 'the relay to be up' });
    expect(await jobsOf(own.a, queue)).toHaveLength(3);
    await own.stop();
    await proxy.close();
  });

  it('serves without a relay where there is no outbox, and says so', async () => {
    const empty = await emptyDatabase();
    const own = await startTestServer({ config: { mode: 'api', outbox: empty.url, outboxToken: KEY_A } });
    await until(
      () => own.log().some(({ level, msg }) => level === 'error' && String(msg).includes('relay of --outbox')),
      {
        what: 'the line in the log',
      },
    );
    expect((await own.a.post('/api/v1/jobs', { task_name: 't' })).status).toBe(201);
    expect(await metric(own, 'relay_up')).toBe('0');
    await own.stop();
    await empty.drop();
  });
});
