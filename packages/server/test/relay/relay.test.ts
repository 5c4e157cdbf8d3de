import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, describe, expect, it } from 'vitest';
import { outboxStatus, retryRefused } from '../../src/store/outbox/upkeep.js';
import { newQueue } from '../engine/kit.js';
import { emptyDatabase } from '../support/database.js';
import { startProxy } from '../support/proxy.js';
import { useTestServer, WORKER_TOKEN } from '../support/server.js';
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

const service = await useTestServer({ config: { mode: 'api', maxPayloadBytes: 100_000 } });
const application = await useApplicationDatabase();
const { a, url } = service;

const { put, many } = enqueuing(application);

describe('a relay', () => {
  it('makes a job of every entry that was committed, and of none that was rolled back', async () => {
    const queue = newQueue();
    const relay = await startTestRelay(application.url, url);
    const client = await session(application);
    for (let n = 1; n <= 20; n++) {
      await client.query('BEGIN');
      await client.query(`SELECT millrace_outbox.enqueue('t', json_build_object('n', $1::int), queue => $2)`, [
        n,
        queue,
      ]);
      await client.query(n % 4 === 0 ? 'ROLLBACK' : 'COMMIT');
    }
    await client.end();
    await drained(application);
    await relay.stop();
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual(upTo(20).filter((n) => n % 4 !== 0));
    expect(relay.counts).toEqual({ relayed: 15, refused: 0 });
  });

  it('passes on everything as it was written', async () => {
    const queue = newQueue();
    const relay = await startTestRelay(application.url, url);
    const payload = '{ "big": 12345678901234567890, "é": "\\u00e9",  "x": 1.10 }';
    const [{ id } = { id: '' }] = await put(
      `enqueue('resize "it"', $1, queue => $2, config => '{ "priority": 7, "timeout": 5 }', metadata => '{"m": [1]}',
               run_at => '2999-01-01 00:00:00+00')`,
      [payload, queue],
    );
    await put(`enqueue('keyed', key => $1, config => json_build_object('queue', $2::text))`, [
      `key of ${queue}`,
      queue,
    ]);
    await put(`enqueue('keyed', key => $1, queue => $2)`, [`key of ${queue}`, queue]);
    await drained(application);
    await relay.stop();
    const jobs = await jobsOf(a, queue);
    const [first, second] = [
      jobs.find((job) => job.task_name !== 'keyed'),
      jobs.find((job) => job.task_name === 'keyed'),
    ];
    expect(first).toMatchObject({
      task_name: 'resize "it"',
      idempotency_key: id,
      metadata: { m: [1] },
      scheduled_at: '2999-01-01T00:00:00Z',
      config: { priority: 7, timeout_secs: 5 },
    });
    expect((await a.get(`/api/v1/jobs/${first.id as string}`)).text).toContain(`"payload":${payload}`);
    expect([second.idempotency_key, jobs.length]).toEqual([`key of ${queue}`, 2]);
  });

  it('sets aside what the service refuses, delivers the rest, and sends it again when told to', async () => {
    const queue = newQueue();
    await many(queue, 5);
    await put(`enqueue('t', '{"n": 6}', queue => $1, config => '{"max_retries": 1001}')`, [queue]);
    await put(`enqueue('t', json_build_object('x', repeat('x', 200000)), queue => $1)`, [queue]);
    await put(`enqueue('t', '{"n": 7}', queue => $1, config => '{"misspelt": 1}')`, [queue]);
    await many(queue, 5, 8);
    await a.post('/api/v1/jobs/batch', { jobs: [{ task_name: 't' }] }, { 'idempotency-key': `batch ${queue}` });
    await put(`enqueue('t', '{"n": 13}', queue => $1, key => $2)`, [queue, `batch ${queue}`]);
    const relay = await startTestRelay(application.url, url);
    await drained(application);
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual([1, 2, 3, 4, 5, 8, 9, 10, 11, 12]);
    const { refused, refusals } = await outboxStatus(application.url);
    expect(refused).toBe(4);
    expect(refusals.map(({ code }) => code).sort()).toEqual([
      'conflict',
      'invalid_request',
      'invalid_request',
      'payload_too_large',
    ]);
    expect(refusals.map(({ error }) => error).join()).toContain('config.max_retries');
    const errors = (): unknown[] => relay.log().filter(({ level }) => level === 'error');
    await until(() => errors().length >= 4, { what: 'the relay to say so' });
    expect(errors()).toHaveLength(4);
    await application.query(`UPDATE millrace_outbox.refused SET config = NULL`);
    const { id } = refusals.find(({ error }) => error.includes('max_retries'))!;
    expect(await retryRefused(application.url, [id])).toBe(1);
    await until(async () => payloadNumbers(await jobsOf(a, queue)).includes(6), { what: 'the entry to be relayed' });
    expect(await retryRefused(application.url, null)).toBe(3);
    await until(async () => (await outboxStatus(application.url)).refused === 2, { what: 'two to be refused again' });
    await relay.stop();
    await application.query('DELETE FROM millrace_outbox.refused');
  });

  it('finds an entry that was written first and committed last', async () => {
    const queue = newQueue();
    const relay = await startTestRelay(application.url, url);
    const slow = await session(application);
    await slow.query('BEGIN');
    await slow.query(`SELECT millrace_outbox.enqueue('t', '{"n": 1}', queue => $1)`, [queue]);
    await many(queue, 3, 2);
    await until(async () => (await jobsOf(a, queue)).length === 3, { what: 'those that were committed' });
    await slow.query('COMMIT');
    await slow.end();
    await until(async () => (await jobsOf(a, queue)).length === 4, { what: 'the one that was committed last' });
    await relay.stop();
  });

  it('repeats a call whose answer was lost without making a second job', async () => {
    const queue = newQueue();
    const target = new URL(url);
    const server = createServer();
    let cut = 0;
    // Passes on the first batch, and hangs up once the service has answered it.
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        void fetch(new URL(request.url!, target), {
          method: request.method!,
          headers: { authorization: request.headers.authorization!, 'content-type': 'application/json' },
          ...(request.method === 'POST' && { body: Buffer.concat(chunks) }),
        }).then(async (answer) => {
          const text = await answer.text();
          if (request.method === 'POST' && ++cut <= 2) return response.destroy();
          response.writeHead(answer.status).end(text);
        });
      });
    });
    const through = await listening(server);
    await many(queue, 50);
    const relay = await startTestRelay(application.url, through);
    await drained(application);
    await relay.stop();
    server.close();
    expect(cut).toBeGreaterThan(2);
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual(upTo(50));
  });

  it('does not repeat what was tried longer ago than keys live, and always sends what was never tried', async () => {
    const queue = newQueue();
    await many(queue, 3);
    await application.query(`UPDATE millrace_outbox.entries SET written_at = now() - interval '90 days'`);
    // Relays that died in the middle of a call.
    await application.query(
      `INSERT INTO millrace_outbox.claims (taken_at, last, seqs)
       SELECT now() - (CASE payload ->> 'n' WHEN '1' THEN 8 ELSE 6 END) * interval '1 day', seq, ARRAY[seq]
       FROM millrace_outbox.entries WHERE payload ->> 'n' <> '3'`,
    );
    const relay = await startTestRelay(application.url, url);
    await drained(application);
    expect(payloadNumbers(await jobsOf(a, queue))).toEqual([2, 3]);
    expect((await outboxStatus(application.url)).refusals).toMatchObject([{ code: 'key_expired' }]);
    await retryRefused(application.url, null);
    await until(async () => (await jobsOf(a, queue)).length === 3, { what: 'the entry to be sent after all' });
    await relay.stop();
  });

  it.each([
    ['a token that nobody knows', 'no-such-token-at-all', /401/],
    ['the token of workers', WORKER_TOKEN, /tenant/],
  ])('stops with %s, keeps everything, and tells nobody the token', async (_, token, reason) => {
    const queue = newQueue();
    await many(queue, 3);
    const relay = await startTestRelay(application.url, url, token);
    expect((await relay.relay.ended())?.message).toMatch(reason);
    expect(relay.log().some(({ level }) => level === 'fatal')).toBe(true);
    expect(JSON.stringify(relay.log())).not.toContain(token);
    expect(await application.query('SELECT FROM millrace_outbox.entries WHERE tried_at IS NULL')).toHaveLength(3);
    expect(await application.query('SELECT FROM millrace_outbox.claims')).toEqual([]);
    await application.query('DELETE FROM millrace_outbox.entries');
  });

  it('waits for a database that is away when it starts, and says why', async () => {
    const queue = newQueue();
    await many(queue, 3);
    const proxy = await startProxy(application.url);
    await proxy.cut();
    const relay = await startTestRelay(proxy.url, url);
    const away = relay.log().find(({ msg }) => String(msg).includes('the database is away'));
    expect([String(away?.reason), relay.relay.ready]).toEqual([expect.stringContaining('ECONNREFUSED'), false]);
    await proxy.restore();
    await drained(application);
    await relay.stop();
    await proxy.close();
    expect([await relay.relay.ended(), payloadNumbers(await jobsOf(a, queue))]).toEqual([null, [1, 2, 3]]);
  });

  it('does not start on a database without an outbox', async () => {
    const empty = await emptyDatabase();
    await expect(startTestRelay(empty.url, url)).rejects.toThrow(/no outbox in this database: millrace outbox install/);
    await empty.drop();
  });

  it('forgets old keys of effects under load too, however many there are, and no others', async () => {
    await application.query(
      `INSERT INTO millrace_outbox.handled
       SELECT 'key ' || n, now() - interval '401 days' - n * interval '1 second' FROM generate_series(1, 12000) n;
       INSERT INTO millrace_outbox.handled VALUES ('later', now() - interval '399 days')`,
    );
    const queue = newQueue();
    const relay = await startTestRelay(application.url, url);
    const keys = (): Promise<{ key: string }[]> => application.query('SELECT key FROM millrace_outbox.handled LIMIT 2');
    await until(
      async () => {
        await many(queue, 10);
        return (await keys()).length === 1;
      },
      { what: 'old keys to be forgotten' },
    );
    expect(await keys()).toEqual([{ key: 'later' }]);
    await drained(application);
    await relay.stop();
  });

  it('stops before an older service, which would ignore the keys', async () => {
    const server = createServer((_, response) =>
      response.end(JSON.stringify({ kind: 'tenant', features: ['strict', 'idempotency'] })),
    );
    const relay = await startTestRelay(application.url, await listening(server));
    expect((await relay.relay.ended())?.message).toMatch(/older/);
    server.close();
  });
});

const servers: Server[] = [];
afterAll(() => servers.forEach((server) => server.closeAllConnections()));

async function listening(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
