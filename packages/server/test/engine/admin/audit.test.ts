import { AUDIT_KEPT, PAUSE_REASON_MAX_LENGTH, type AuditEntry, type AuditPage } from '@millrace/contract';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import type { Client } from '../../support/client.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { createJob, newQueue } from '../kit.js';

const TOKENS = { ada: 'token-of-ada-0d9e1b', nameless: 'token-of-nobody-77ac' };

describe('what operators did', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-audit-'));
  const adminTokenFile = join(folder, 'admin-tokens');
  writeFileSync(adminTokenFile, `${TOKENS.ada} Ada Lovelace\n${TOKENS.nameless}\n`);
  const database = await cloneDatabase();
  const server = await startTestServer({ database, config: { mode: 'api', adminTokenFile } });
  const { a, admin, worker, nobody } = server;
  const ada = server.as(TOKENS.ada);
  afterAll(async () => {
    await server.stop();
    await database.drop();
    rmSync(folder, { recursive: true });
  });
  const audit = async (query = ''): Promise<AuditPage> => {
    const reply = await admin.get(`/api/v1/admin/audit?${query}`);
    expect(reply.status, reply.text).toBe(200);
    return reply.body as AuditPage;
  };
  const of = async (target: string): Promise<AuditEntry[]> =>
    (await audit('limit=100')).entries.filter((entry) => entry.target === target);
  const change = async (client: Client, queue: string, what: 'pause' | 'resume', body?: object): Promise<string> => {
    const reply = await client.post(`/api/v1/admin/queues/${encodeURIComponent(queue)}/${what}`, body);
    expect(reply.status, reply.text).toBe(204);
    return String(reply.headers.get('x-request-id'));
  };
  const shown = async (queue: string): Promise<unknown> => {
    const { paused_at, paused_reason, paused_by } = (await a.get(`/api/v1/queues/${queue}`)).body as Record<
      string,
      any
    >;
    return [paused_at === null ? null : 'paused', paused_reason, paused_by];
  };

  it('is shown with the queue: why it is paused, and by whom', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    expect(await shown(queue)).toEqual([null, null, null]);
    await change(ada, queue, 'pause', { reason: 'the provider is down' });
    expect(await shown(queue)).toEqual(['paused', 'the provider is down', 'Ada Lovelace']);
    const lists = [await a.get('/api/v1/queues'), await admin.get('/api/v1/admin/queues')];
    for (const { body } of lists) {
      const [found] = (body.queues as { queue: string }[]).filter((each) => each.queue === queue);
      expect(found).toMatchObject({ paused_reason: 'the provider is down', paused_by: 'Ada Lovelace' });
    }
    // Said again without a reason, it changes nothing; a reason replaces the one before.
    await change(admin, queue, 'pause');
    expect(await shown(queue)).toEqual(['paused', 'the provider is down', 'Ada Lovelace']);
    await change(server.as(TOKENS.nameless), queue, 'pause', { reason: 'still down' });
    expect(await shown(queue)).toEqual(['paused', 'still down', 'admin']);
    await change(admin, queue, 'resume');
    expect(await shown(queue)).toEqual([null, null, null]);
    await change(admin, queue, 'pause', { reason: null });
    expect(await shown(queue)).toEqual(['paused', null, 'admin']);
  });

  it('is not shown of a pause that an older program began', async () => {
    const queue = newQueue();
    await createJob(a, queue);
    await change(ada, queue, 'pause', { reason: 'mine' });
    await database.query('UPDATE millrace.queues SET paused_at = NULL WHERE queue = $1', [queue]);
    expect(await shown(queue)).toEqual([null, null, null]);
    await database.query('UPDATE millrace.queues SET paused_at = now() WHERE queue = $1', [queue]);
    expect(await shown(queue)).toEqual(['paused', null, null]);
  });

  it('is refused without a change if the reason is none', async () => {
    const queue = newQueue();
    for (const reason of ['', '  ', 7, 'x'.repeat(PAUSE_REASON_MAX_LENGTH + 1), 'nul \0']) {
      const reply = await admin.post(`/api/v1/admin/queues/${queue}/pause`, { reason });
      expect([reply.status, reply.body.details?.[0].path], String(reason)).toEqual([400, 'reason']);
    }
    expect(await shown(queue)).toEqual([null, null, null]);
    const longest = '\u{1F980}'.repeat(PAUSE_REASON_MAX_LENGTH);
    await change(admin, queue, 'pause', { reason: longest });
    expect(await shown(queue)).toEqual(['paused', longest, 'admin']);
  });

  it('is recorded, the newest first, with how it was before and after; what changed nothing is not', async () => {
    const queue = 'of operators / ü';
    const paused = await change(ada, queue, 'pause', { reason: 'why not' });
    await change(admin, queue, 'pause');
    const resumed = await change(admin, queue, 'resume');
    await change(admin, queue, 'resume');
    const path = `/api/v1/admin/queues/${encodeURIComponent(queue)}`;
    const set = await ada.send('PUT', path, { body: { running: 3 }, headers: { 'x-request-id': 'my-id' } });
    expect(set.status, set.text).toBe(200);
    await ada.send('PUT', path, { body: { running: 3 } });
    const pause = { paused_at: expect.any(String), paused_reason: 'why not', paused_by: 'Ada Lovelace' };
    const none = { queue, running: null, rate: null, share: null };
    const at = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(await of(queue)).toEqual([
      {
        ...{ at, action: 'set_queue', target: queue, by: 'Ada Lovelace', request_id: 'my-id' },
        ...{ before: none, after: { ...none, running: 3 } },
      },
      {
        ...{ at, action: 'resume_queue', target: queue, by: 'admin', request_id: resumed },
        ...{ before: pause, after: null },
      },
      {
        ...{ at, action: 'pause_queue', target: queue, by: 'Ada Lovelace', request_id: paused },
        ...{ before: null, after: pause },
      },
    ]);
  });

  it('comes in pages, and only to operators', async () => {
    for (let n = 0; n < 5; n++) await change(admin, newQueue(), 'pause');
    const whole = await audit('limit=100');
    expect(whole.has_more).toBe(false);
    const found: AuditEntry[] = [];
    for (let query = 'limit=2'; ;) {
      const page = await audit(query);
      expect(page.entries.length).toBeLessThanOrEqual(2);
      found.push(...page.entries);
      if (!page.has_more) break;
      query = `limit=2&cursor=${encodeURIComponent(page.next_cursor!)}`;
    }
    expect(found).toEqual(whole.entries);
    expect((await admin.get('/api/v1/admin/audit?cursor=x')).status).toBe(400);
    for (const other of [a, worker]) expect((await other.get('/api/v1/admin/audit')).status).toBe(403);
    expect((await nobody.get('/api/v1/admin/audit')).status).toBe(401);
  });

  it(`is kept to the last ${AUDIT_KEPT}`, async () => {
    onTestFinished(async () => void (await database.query('TRUNCATE millrace.audit')));
    await database.query(
      `INSERT INTO millrace.audit (at, id, action, target, operator, request_id)
       SELECT now() - n * interval '1 second', gen_random_uuid(), 'pause_queue', 'old', 'admin', 'r'
       FROM generate_series(1, $1::int) AS n`,
      [AUDIT_KEPT + 10],
    );
    const queue = newQueue();
    await change(admin, queue, 'pause');
    const [row] = await database.homeOf(TENANT_A).query<{ n: number }>('SELECT count(*)::int AS n FROM millrace.audit');
    expect(row!.n).toBe(AUDIT_KEPT);
    expect((await audit('limit=1')).entries[0]).toMatchObject({ target: queue });
  });
});
