import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../support/server.js';
import { chain, workflowsOf, hand } from './kit.js';

/** 11: whose workflow it is decides before anything else does. */
describe('workflows of another tenant', async () => {
  const { a, b, worker, nobody } = await useTestServer({ config: { mode: 'api' } });
  const workflows = workflowsOf(a);
  const theirs = await workflowsOf(b).create(chain('x', 'y'));

  const ROUTES = [
    ['GET', ''],
    ['GET', '/steps'],
    ['GET', '/diagram'],
    ['POST', '/cancel'],
  ] as const;

  describe.each(ROUTES)('%s /api/v1/workflows/{id}%s', (method, rest) => {
    const call = (id: string, client = a) => client.send(method, `/api/v1/workflows/${id}${rest}`);

    it('is 403 for another tenant, and nothing happens', async () => {
      const reply = await call(theirs);
      expect([reply.status, reply.body.code]).toEqual([403, 'forbidden']);
      expect(await workflowsOf(b).status(theirs)).toBe('created');
    });

    it('is 404 for an unknown id', async () => {
      const reply = await call(randomUUID());
      expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
    });

    it.each(['x', '0', '%00', '..%2f', 'a'.repeat(36), randomUUID().slice(1), `${randomUUID()}0`, '%F0%9F%99%82'])(
      'is 404 for %s',
      async (id) => {
        const reply = await call(id);
        expect([reply.status, reply.body.code]).toEqual([404, 'not_found']);
      },
    );

    it('is 404 for the id of something else', async () => {
      const own = await workflows.create(chain('x'));
      expect((await call(await workflows.jobId(own, 'x'))).status).toBe(404);
    });

    it('is 401 without a tenant', async () => {
      for (const client of [nobody, worker]) {
        const reply = await call(theirs, client);
        expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
      }
    });

    it('takes an id in capitals', async () => {
      const own = await workflows.create(chain('x'));
      expect((await call(own.toUpperCase())).status).toBeLessThan(300);
    });
  });

  it('are not in the list', async () => {
    const own = await workflows.create(chain('x'));
    const ids = async (client: typeof a): Promise<string[]> =>
      (await client.get('/api/v1/workflows?limit=100')).body.workflows.map((each: { id: string }) => each.id);
    expect(await ids(a)).toContain(own);
    expect(await ids(a)).not.toContain(theirs);
    expect(await ids(b)).toEqual([theirs]);
    expect((await b.get('/api/v1/workflows?include_total=true')).body.total).toBe(1);
    for (const client of [nobody, worker]) expect((await client.get('/api/v1/workflows')).status).toBe(401);
  });

  it('are created for whoever asks', async () => {
    for (const client of [nobody, worker]) {
      expect((await client.post('/api/v1/workflows', 'not even JSON')).status).toBe(401);
    }
  });

  it('have jobs that are theirs too', async () => {
    const job = await workflowsOf(b).jobId(theirs, 'x');
    expect((await a.get(`/api/v1/jobs/${job}`)).status).toBe(403);
    expect((await a.post(`/api/v1/jobs/${job}/cancel`)).status).toBe(403);
    const { job: leased } = await hand(worker).take(theirs, 'x');
    expect(leased.tenant_id).toBe('tenant-b');
  });
});
