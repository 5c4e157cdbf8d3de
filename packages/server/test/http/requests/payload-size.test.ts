import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';

const LIMIT = 1000;

/** JSON of exactly so many bytes: two quotes more than its text and seven around it. */
const ofBytes = (bytes: number, filler = 'x'): string => {
  const room = bytes - '{"s":""}'.length;
  const size = Buffer.byteLength(filler);
  return `{"s":"${filler.repeat(Math.floor(room / size))}${' '.repeat(room % size)}"}`;
};

describe('--max-payload-bytes', async () => {
  const { a, worker } = await useTestServer({ config: { maxPayloadBytes: LIMIT, mode: 'api' } });

  const job = (field: string, json: string): string => `{"task_name":"t","config":{"queue":"q"},"${field}":${json}}`;
  const step = (field: string, json: string): string => `{"name":"s2","task_name":"t","${field}":${json}}`;
  const workflow = (more: string, last = step('payload', '{}')): string =>
    `{"name":"w","steps":[{"name":"s1","task_name":"t"},${last}]${more}}`;
  let schedules = 0;
  const cron = (json: string): string =>
    `{"name":"c${++schedules}","cron_expr":"0 0 1 1 *","task_name":"t","payload":${json}}`;

  it.each<[field: string, path: string, body: (json: string) => string]>([
    ['payload', '/jobs', (json) => job('payload', json)],
    ['metadata', '/jobs', (json) => job('metadata', json)],
    ['jobs[1].payload', '/jobs/batch', (json) => `{"jobs":[{"task_name":"t"},${job('payload', json)}]}`],
    ['jobs[1].metadata', '/jobs/batch', (json) => `{"jobs":[{"task_name":"t"},${job('metadata', json)}]}`],
    ['context', '/workflows', (json) => workflow(`,"context":${json}`)],
    ['metadata', '/workflows', (json) => workflow(`,"metadata":${json}`)],
    ['steps[1].payload', '/workflows', (json) => workflow('', step('payload', json))],
    ['steps[1].metadata', '/workflows', (json) => workflow('', step('metadata', json))],
    ['payload', '/cron', cron],
  ])('bounds %s of POST %s, in bytes of the text that was sent', async (field, path, body) => {
    for (const filler of ['x', 'ü', '\\u0041']) {
      const fits = await a.post(`/api/v1${path}`, body(ofBytes(LIMIT, filler)));
      expect([filler, fits.status]).toEqual([filler, 201]);
      const refused = await a.post(`/api/v1${path}`, body(ofBytes(LIMIT + 1, filler)));
      expect([filler, refused.status]).toEqual([filler, 413]);
      expect(refused.body).toMatchObject({
        code: 'payload_too_large',
        error: `${field} must be at most ${LIMIT} bytes of JSON`,
        details: [{ path: field, message: `must be at most ${LIMIT} bytes of JSON` }],
      });
    }
  });

  it('bounds the result of a remote worker, who keeps its lease and can report another', async () => {
    const { job_id: id } = (await a.post('/api/v1/jobs', { task_name: 't', config: { queue: 'results' } })).body;
    const [leased] = (await worker.post('/api/v1/queues/results/lease', { lease_secs: 3_600 })).body.jobs;
    const complete = (result: string) =>
      worker.post(`/api/v1/jobs/${id}/complete`, `{"lease_token":"${leased.lease_token}","result":${result}}`);
    const refused = await complete(ofBytes(LIMIT + 1));
    expect([refused.status, refused.body.details]).toEqual([413, [expect.objectContaining({ path: 'result' })]]);
    expect((await a.get(`/api/v1/jobs/${id}`)).body.status).toBe('running');
    expect((await complete(ofBytes(LIMIT))).status).toBe(204);
    expect((await a.get(`/api/v1/jobs/${id}`)).body.status).toBe('completed');
  });

  it('refuses a whole batch for one job', async () => {
    const refused = await a.post('/api/v1/jobs/batch', {
      jobs: [
        { task_name: 't', config: { queue: 'none of these' } },
        { task_name: 't', payload: { s: 'x'.repeat(LIMIT) } },
      ],
    });
    expect(refused.status).toBe(413);
    expect((await a.get('/api/v1/jobs?queue=none%20of%20these')).body.jobs).toEqual([]);
  });

  it('bounds each field for itself', async () => {
    const body = `{"task_name":"t","payload":${ofBytes(LIMIT)},"metadata":${ofBytes(LIMIT)}}`;
    expect((await a.post('/api/v1/jobs', body)).status).toBe(201);
  });
});
