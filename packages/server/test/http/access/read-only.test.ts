import { SignJWT } from 'jose';
import { describe, expect, it } from 'vitest';
import { openApiDocument } from '../../../src/http/openapi.js';
import { JOB_ID, JWT_SECRET, READ_KEY_A, useApp } from '../harness.js';

const METHODS = ['get', 'put', 'post', 'delete', 'patch'] as const;

/** Routes of another method than GET that only read. */
const READS = new Set(['POST /api/v1/jobs/wait']);

interface Operation {
  readonly security?: readonly Record<string, unknown>[];
}

/** Every operation of the document that a tenant may call, with ids in its path. */
async function operations(scheme: string): Promise<[string, string][]> {
  const { paths = {} } = (await openApiDocument()) as { paths?: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]?.security?.some((each) => scheme in each)).map(
      (method): [string, string] => [
        method.toUpperCase(),
        path.replace('/dlq/{id}', '/dlq/1').replaceAll(/\{\w+\}/g, JOB_ID),
      ],
    ),
  );
}

/** Made once, for all tests of the file: it lasts for all of them, however slow the machine is. */
const scoped = (scope: unknown): Promise<string> =>
  new SignJWT({ sub: 'tenant-a', exp: Math.floor(Date.now() / 1000) + 3_600, millrace_scope: scope })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(JWT_SECRET));

describe('a read-only credential', async () => {
  const { as, url } = await useApp();
  const tenantRoutes = await operations('tenantToken');
  const isTenantRoute = new Set(tenantRoutes.map(String));
  const workerRoutes = (await operations('workerToken')).filter((route) => !isTenantRoute.has(String(route)));
  const adminRoutes = (await operations('adminToken')).filter((route) => !isTenantRoute.has(String(route)));
  const credentials: [string, string][] = [
    ['a read key', READ_KEY_A],
    ['a JWT of scope read', await scoped('read')],
  ];
  const send = (token: string, method: string, path: string): Promise<Response> =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(method === 'GET' ? {} : { body: '{}' }),
    });

  it('is tried on every route of the document', () => {
    expect(tenantRoutes.length).toBeGreaterThan(20);
    expect(adminRoutes.length).toBeGreaterThan(4);
  });

  describe.each(credentials)('%s', (_what, token) => {
    it.each(tenantRoutes.filter(([method, path]) => method !== 'GET' && !READS.has(`${method} ${path}`)))(
      'may not call %s %s',
      async (method, path) => {
        const response = await send(token, method, path);
        expect(response.status).toBe(403);
        expect(await response.json()).toMatchObject({ code: 'forbidden', error: 'this credential may only read' });
      },
    );

    it.each(tenantRoutes.filter(([method, path]) => method === 'GET' || READS.has(`${method} ${path}`)))(
      'may call %s %s',
      async (method, path) => {
        const response = await send(token, method, path);
        expect([401, 403]).not.toContain(response.status);
        await response.body?.cancel();
      },
    );

    it.each([...workerRoutes, ...adminRoutes])('may not call %s %s', async (method, path) => {
      expect((await send(token, method, path)).status).toBe(403);
    });
  });

  it('of an unknown scope is no credential at all', async () => {
    for (const scope of ['write', '', null, ['read']]) {
      expect((await as(await scoped(scope)).get('/api/v1/stats')).status).toBe(401);
    }
  });
});
