import { describe, expect, it } from 'vitest';
import { useTestServer } from '../support/server.js';

/** What a caller stores in a real database comes back byte for byte, whichever way it is read. */
describe('caller JSON', async () => {
  const { a, worker } = await useTestServer({ config: { mode: 'api' } });

  const nested = (levels: number): string => '{"a":'.repeat(levels) + '{}' + '}'.repeat(levels);

  it.each([
    ['empty', '{}'],
    ['numbers beyond 2^53', '{"n":12345678901234567890,"x":1.10,"y":1e400}'],
    ['the order of keys', '{"b":1,"10":2,"a":3,"2":4}'],
    ['duplicate keys', '{"a":1,"a":2}'],
    ['escapes as they were spelt', '{"s":"\\u0041\\/\\u00e9"}'],
    ['NUL', '{"s":"a\\u0000b"}'],
    ['lone surrogates', '{"s":"\\ud800","\\udc00":"\\ud800\\ud800"}'],
    ['white space', '{ "a" :\n\t[ 1 ,\r\n2 ] }'],
    ['what is not ASCII', '{"s":"ü€😀\u2028\u007f"}'],
    ['the deepest nesting that is taken', nested(998)],
    ['a megabyte', `{"s":"${'x'.repeat(1_000_000)}"}`],
  ])('survives: %s', async (_what, json) => {
    const queue = `q-${Math.random()}`;
    const body = `{"task_name":"t","config":{"queue":"${queue}"},"payload":${json},"metadata":${json}}`;
    const created = await a.post('/api/v1/jobs', body);
    expect(created.status).toBe(201);
    const path = `/api/v1/jobs/${created.body.job_id}`;

    const leased = await worker.post(`/api/v1/queues/${queue}/lease`, { lease_secs: 3_600 });
    expect(leased.text).toContain(`"payload":${json},`);
    const { lease_token: token } = leased.body.jobs[0] as { lease_token: string };
    const settled = await worker.post(`${path}/complete`, `{"lease_token":"${token}","result":${json}}`);
    expect(settled.status).toBe(204);

    for (const reply of [await a.get(path), await a.get(`/api/v1/jobs?queue=${queue}`)]) {
      for (const field of ['payload', 'result', 'metadata']) expect(reply.text).toContain(`"${field}":${json}`);
    }
  });

  it('is never refused: error texts of any kind are accepted', async () => {
    const queue = 'errors';
    await a.post('/api/v1/jobs', { task_name: 't', config: { queue, max_retries: 0 } });
    const leased = await worker.post(`/api/v1/queues/${queue}/lease`, { lease_secs: 3_600 });
    const { job, lease_token } = leased.body.jobs[0] as { job: { id: string }; lease_token: string };
    const error = `a\0b\ud800c😀${'x'.repeat(100_000)}`;
    expect((await worker.post(`/api/v1/jobs/${job.id}/fail`, { lease_token, error })).status).toBe(204);
    const { body } = await a.get(`/api/v1/jobs/${job.id}`);
    expect(body).toMatchObject({ status: 'failed' });
    expect(body.error_message).toMatch(/^a\ufffdb\ufffdc😀x+$/);
    expect(body.error_message).toHaveLength(65_536);
  });
});
