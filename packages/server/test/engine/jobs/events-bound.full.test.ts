import { describe, expect, it } from 'vitest';
import { MAX_STREAMS_PER_TENANT } from '../../../src/engine/shared/event-streams.js';
import { useTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { createJob, newQueue } from '../kit.js';
import { workflowsOf } from '../workflows/kit.js';

describe('the event streams of one tenant', async () => {
  const { a, b } = await useTestServer({ config: { mode: 'api' } });

  it('are bounded, those of workflows included, and others still get theirs', async () => {
    const path = `/api/v1/jobs/${await createJob(a, newQueue())}/events`;
    const open: Response[] = [];
    while (open.length < MAX_STREAMS_PER_TENANT)
      open.push(...(await Promise.all(Array.from({ length: 10 }, () => a.open('GET', path)))));
    expect(new Set(open.map(({ status }) => status))).toEqual(new Set([200]));

    const refused = await a.get(path);
    expect([refused.status, refused.body.code]).toEqual([503, 'unavailable']);
    const flow = await workflowsOf(a).create({ name: 'w', steps: [{ name: 's', task_name: 't' }] });
    expect((await a.get(`/api/v1/workflows/${flow}/events`)).status).toBe(503);
    const theirs = await b.open('GET', `/api/v1/jobs/${await createJob(b, newQueue())}/events`);
    expect(theirs.status).toBe(200);
    await theirs.body?.cancel();

    await open.pop()!.body?.cancel();
    await until(
      async () => {
        const again = await a.open('GET', path);
        await again.body?.cancel();
        return again.status === 200;
      },
      { what: 'a stream that was closed to make room' },
    );
    for (const { body } of open) await body?.cancel();
  });
});
