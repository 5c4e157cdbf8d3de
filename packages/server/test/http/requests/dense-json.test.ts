import { beforeEach, describe, expect, it, vi, type MockInstance } from 'vitest';
import { useTestServer } from '../../support/server.js';

/**
 * JSON that is dense with structure takes JSON.parse up to two hundred milliseconds per megabyte, in which nobody else
 * is served. So none of it may reach JSON.parse, whichever request brings it.
 */
let parse: MockInstance<typeof JSON.parse>;

/** More than is parsed as a whole, and than the largest request has of its own: a thousand jobs with all they can. */
const OWN = 35_000;

const structure = (text: string): number => text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '').match(/[{[,]/g)?.length ?? 0;
const parsed = (): number => {
  expect(parse.mock.calls.length).toBeGreaterThan(0);
  return Math.max(...parse.mock.calls.map(([text]) => structure(text)));
};

const dense = {
  'empty objects': `[${Array(100_000).fill('{}').join()}]`,
  names: `{${Array.from({ length: 45_000 }, (_, n) => `"k${n}":1`).join()}}`,
};
const object = (of: string): string => `{"a": ${of}, "n": 1.10}`;

const { a, worker, database } = await useTestServer({ config: { mode: 'api' } });
/** A process that did not create what it works on. */
const other = await useTestServer({ config: { mode: 'api' }, database });
beforeEach(() => void (parse = vi.spyOn(JSON, 'parse')));

describe.each(Object.entries(dense))('a request with %s without number', (_what, much) => {
  const payload = object(much);
  const post = (path: string, body: string) => a.post(`/api/v1${path}`, body);

  const leased = async (queue: string): Promise<{ id: string; token: string; text: string }> => {
    const response = await worker.open('POST', `/api/v1/queues/${queue}/lease`, { body: { lease_secs: 3_600 } });
    const text = await response.text();
    const [id = ''] = /(?<="id":")[^"]+/.exec(text) ?? [];
    const [token = ''] = /(?<="lease_token":")[^"]+/.exec(text) ?? [];
    return { id, token, text };
  };

  it('is answered as any other, in each field that belongs to the caller', async () => {
    const job = `{"task_name":"t","config":{"queue":"q"},"payload":${payload},"metadata":${payload}}`;
    expect((await post('/jobs', job)).status).toBe(201);
    const { id, token, text } = await leased('q');
    expect(text.split(payload)).toHaveLength(3);
    const more = `"lease_token":"${token}"`;
    const heartbeat = await worker.post(`/api/v1/jobs/${id}/heartbeat`, `{${more},"progress":${payload}}`);
    expect([heartbeat.status, heartbeat.body.details[0].path]).toEqual([413, 'progress']);
    expect((await worker.post(`/api/v1/jobs/${id}/complete`, `{${more},"result":${payload}}`)).status).toBe(204);
    expect(await (await a.open('GET', `/api/v1/jobs/${id}`)).text()).toContain(`"result":${payload}`);
    const again = await post(`/jobs/${id}/rerun`, '');
    expect(again.status).toBe(201);
    expect((await post(`/jobs/${again.body.job_id}/cancel`, '')).status).toBe(204);
    const schedule = `{"name":"c${much.length}","cron_expr":"0 0 1 1 *","task_name":"t","payload":${payload}}`;
    expect((await post('/cron', schedule)).status).toBe(201);
    expect(parsed()).toBeLessThan(OWN);
  });

  it('is answered as any other in a batch, and in the reports of a worker', async () => {
    const items = Array.from(
      { length: 500 },
      (_, n) => `{"task_name":"t","config":{"queue":"b"},"payload":{"n":${n}}}`,
    );
    const last = `{"task_name":"t","config":{"queue":"last"},"payload":${payload}}`;
    const created = await post('/jobs/batch', `{"jobs":[${[...items, last].join()}]}`);
    expect([created.status, created.body.count]).toEqual([201, 501]);
    const { id, token, text } = await leased('last');
    expect(text).toContain(`"payload":${payload}`);
    const wrong = `{"job_id":"${id}","lease_token":"x","outcome":"completed","result":${much}}`;
    const right = `{"job_id":"${id}","lease_token":"${token}","outcome":"completed","result":${payload}}`;
    const { body } = await worker.post('/api/v1/reports', `{"reports":[${wrong},${right}]}`);
    expect(body.reports).toHaveLength(2);
    expect(body.reports[1]).toEqual({ job_id: id, ok: true });
    expect(await (await a.open('GET', `/api/v1/jobs/${id}`)).text()).toContain(`"result":${payload}`);
    expect(parsed()).toBeLessThan(OWN);
  });

  it('is answered as any other in a workflow, which then runs', async () => {
    const steps = [
      `{"name":"first","task_name":"t","queue":"w","payload":${payload},"metadata":${payload}}`,
      `{"name":"then","task_name":"t","queue":"w","depends_on":["first"],"payload":${payload}}`,
    ];
    const created = await post('/workflows', `{"name":"w","steps":[${steps.join()}],"context":${payload}}`);
    expect(created.status).toBe(201);
    const path = `/api/v1/workflows/${created.body.workflow_id}`;
    for (const step of ['first', 'then']) {
      const { id, token, text } = await leased('w');
      expect(text).toContain(`"workflow_step_id":"${step}"`);
      expect(text).toContain(payload.slice(0, -1));
      const result = `{"lease_token":"${token}","result":{"of ${step}": ${payload}}}`;
      expect((await other.worker.post(`/api/v1/jobs/${id}/complete`, result)).status).toBe(204);
    }
    const text = await (await a.open('GET', path)).text();
    expect(text).toContain('"status":"completed"');
    expect(text).toContain(`"of then": ${payload}`);
    expect(parsed()).toBeLessThan(OWN);
  });

  it.each([
    ['beside the fields', `{"task_name":"t","zzz":${much}}`, 201],
    ['within the configuration', `{"task_name":"t","config":{"zzz":${much}}}`, 201],
    ['as the configuration', `{"task_name":"t","config":${much}}`, [400, 201]],
    ['as the name', `{"task_name":${much}}`, 400],
    ['as an instant', `{"task_name":"t","run_at":${much}}`, 400],
    ['as a whole', `${much}`, 400],
    ['cut short', `{"task_name":"t","payload":${payload.slice(0, -2)}}`, 400],
    ['with something behind it', `{"task_name":"t","payload":${payload}}}`, 400],
  ])('makes nothing of them %s', async (_where, body, status) => {
    const reply = await post('/jobs', body);
    expect([status].flat()).toContain(reply.status);
    if (reply.status === 201) expect(reply.body.warnings[0]).toContain('unknown field');
    expect(parsed()).toBeLessThan(OWN);
  });

  it.each([
    ['/jobs/batch', 'jobs'],
    ['/workflows', 'steps'],
    ['/jobs/wait', 'job_ids'],
    ['/operations', 'ids'],
  ])('makes nothing of them as the list of POST %s', async (path, list) => {
    const body = `{"name":"n","action":"cancel_jobs","${list}":${much}}`;
    const reply = await post(path, body);
    expect([path, reply.status]).toEqual([path, 400]);
    expect(parsed()).toBeLessThan(OWN);
  });

  it('makes nothing of them where no body is needed, and takes no large one there', async () => {
    const { body } = await post('/jobs', '{"task_name":"t"}');
    const short = `{"zzz":[${Array(10_000).fill('{}').join()}]}`;
    expect((await post(`/jobs/${body.job_id}/run-now`, short)).status).toBe(204);
    expect(parsed()).toBeLessThan(OWN);
    const refused = await post(`/jobs/${body.job_id}/cancel`, `{"zzz":${much}}`);
    expect([refused.status, refused.body.code]).toEqual([413, 'payload_too_large']);
    const lease = await worker.post('/api/v1/queues/q/lease', `{"zzz":"${'x'.repeat(1024 * 1024)}"}`);
    expect(lease.status).toBe(413);
  });
});
