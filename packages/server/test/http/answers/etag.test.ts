import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { createJob, fail, leaseOne } from '../../engine/kit.js';

describe('reads of', async () => {
  const { a, b, worker } = await useTestServer({ config: { mode: 'api' } });
  let cronId: string;

  const createWorkflow = () => a.post('/api/v1/workflows', { name: 'w', steps: [{ name: 's', task_name: 't' }] });
  const createCron = (name: string) => a.post('/api/v1/cron', { name, cron_expr: '@yearly', task_name: 't' });
  const bury = async (): Promise<void> => {
    await createJob(a, 'doomed');
    await fail(worker, await leaseOne(worker, 'doomed'), { retryable: false });
  };
  beforeAll(async () => {
    cronId = (await createCron('first')).body.cron_id;
    await createWorkflow();
    await createJob(a, 'q');
    await bury();
  });

  const READS: readonly (readonly [path: string, change: () => Promise<unknown>])[] = [
    ['jobs?limit=100', () => createJob(a, 'q')],
    ['jobs?view=summary', () => createJob(a, 'q')],
    ['workflows', createWorkflow],
    ['workflows?view=summary', createWorkflow],
    ['dlq', bury],
    ['dlq/groups', bury],
    ['cron', () => createCron('second')],
    ['cron/:id/firings', () => a.post(`/api/v1/cron/${cronId}/trigger`)],
    ['counts', () => createJob(a, 'q')],
    ['queues', () => createJob(a, 'another queue')],
  ];

  it.each(READS)('%s carry a weak ETag, and are not sent again until they have changed', async (path, change) => {
    const url = `/api/v1/${path.replace(':id', cronId)}`;
    const first = await a.get(url);
    const tag = first.headers.get('etag')!;
    expect([first.status, tag]).toEqual([200, expect.stringMatching(/^W\/"[\w-]{20,}"$/)]);
    // The age of a queue's oldest job moves by itself; nothing else does.
    if (path !== 'queues') {
      for (const known of [tag, `"other", ${tag}`, tag.slice(2), '*']) {
        const again = await a.get(url, { 'if-none-match': known });
        expect([known, again.status, again.text, again.headers.get('etag')]).toEqual([known, 304, '', tag]);
        expect(again.headers.get('content-type')).toBeNull();
      }
      const head = await a.send('HEAD', url, { headers: { 'if-none-match': tag } });
      expect([head.status, head.headers.get('etag')]).toEqual([304, tag]);
      expect((await a.send('HEAD', url)).headers.get('etag')).toBe(tag);
    }
    expect((await a.get(url, { 'if-none-match': 'W/"another"' })).status).toBe(200);
    await change();
    const changed = await a.get(url, { 'if-none-match': tag });
    expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false]);
    expect(changed.text).not.toBe(first.text);
  });

  it('series carry one for the range that was asked for', async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
    const [older, newer] = [10, 9].map((days) => `/api/v1/series?from=${daysAgo(days)}&to=${daysAgo(days - 1)}`);
    const tag = (await a.get(older!)).headers.get('etag')!;
    const answers = [await a.get(older!, { 'if-none-match': tag }), await a.get(newer!, { 'if-none-match': tag })];
    expect(answers.map((answer) => answer.status)).toEqual([304, 200]);
  });

  it('one tenant have nothing to do with those of another', async () => {
    const tag = (await a.get('/api/v1/jobs')).headers.get('etag')!;
    expect((await b.get('/api/v1/jobs', { 'if-none-match': tag })).status).toBe(200);
  });

  it('pages that are streamed carry none', async () => {
    for (let n = 0; n < 2; n++) {
      await createJob(a, 'streamed', { payload: { text: randomBytes(200_000).toString('base64') } });
    }
    const reply = await a.get('/api/v1/jobs?queue=streamed', { 'if-none-match': '*' });
    expect([reply.status, reply.headers.get('etag'), reply.body.jobs.length]).toEqual([200, null, 2]);
  });

  it('refusals carry none', async () => {
    const reply = await a.get('/api/v1/jobs?limit=x', { 'if-none-match': '*' });
    expect([reply.status, reply.headers.get('etag')]).toEqual([400, null]);
  });
});
