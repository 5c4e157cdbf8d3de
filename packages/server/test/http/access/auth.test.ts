import { createHmac } from 'node:crypto';
import { SignJWT, UnsecuredJWT, generateKeyPair } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { JOB_ID, JWT_SECRET, KEY_A, KEY_B, startApp, useApp, WORKER_TOKEN } from '../harness.js';

const TENANT_ROUTES = [
  ['GET', '/api/v1/jobs'],
  ['POST', '/api/v1/jobs'],
  ['POST', '/api/v1/jobs/batch'],
  ['GET', `/api/v1/jobs/${JOB_ID}`],
  ['POST', `/api/v1/jobs/${JOB_ID}/cancel`],
  ['GET', `/api/v1/jobs/${JOB_ID}/events`],
  ['GET', '/api/v1/stats'],
  ['GET', '/api/v1/tasks'],
  ['GET', '/api/v1/queues'],
  ['GET', '/api/v1/dlq'],
  ['GET', '/api/v1/dlq/1'],
  ['POST', '/api/v1/dlq/1/replay'],
] as const;

const WORKER_ROUTES = [
  ['POST', '/api/v1/queues/q/lease'],
  ['POST', `/api/v1/jobs/${JOB_ID}/heartbeat`],
  ['POST', `/api/v1/jobs/${JOB_ID}/complete`],
  ['POST', `/api/v1/jobs/${JOB_ID}/fail`],
  ['POST', '/api/v1/jobs/unknown/complete'],
] as const;

const EVERY_ROUTE = [...TENANT_ROUTES, ...WORKER_ROUTES];

const sign = (claims: Record<string, unknown>, alg = 'HS256', secret = JWT_SECRET): Promise<string> =>
  new SignJWT(claims).setProtectedHeader({ alg }).sign(Buffer.from(secret));

const now = (): number => Math.floor(Date.now() / 1000);

describe('credentials', async () => {
  const { as, nobody, worker, url, engine, metrics } = await useApp();

  const send = (authorization: string | null, method: string, path: string): Promise<Response> =>
    fetch(url + path, { method, headers: authorization === null ? {} : { authorization } });

  describe.each(EVERY_ROUTE)('%s %s', (method, path) => {
    it.each([
      ['no header', null],
      ['another scheme', 'Basic a2V5'],
      ['a scheme without a token', 'Bearer '],
      ['a scheme with blanks', 'Bearer    '],
      ['a token without a scheme', KEY_A],
      ['an unknown key', 'Bearer not-a-key'],
      ['a key with something added', `Bearer ${KEY_A}x`],
      ['the beginning of a key', `Bearer ${KEY_A.slice(0, -1)}`],
    ])('answers 401 to %s', async (_what, authorization) => {
      const response = await send(authorization, method, path);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({ code: 'unauthorized', error: expect.any(String) });
    });
  });

  it.each(TENANT_ROUTES)('answers 401 to the worker token on %s %s', async (method, path) => {
    expect((await worker.send(method, path)).body).toMatchObject({ code: 'unauthorized' });
  });

  it.each(WORKER_ROUTES)('answers 403 to a tenant on %s %s, whatever the body', async (method, path) => {
    for (const token of [KEY_A, await sign({ sub: 'acme', exp: now() + 3_600 })]) {
      for (const body of [undefined, {}, '{"broken', '[]']) {
        const reply = await as(token).send(method, path, { body });
        expect([reply.status, reply.body.code]).toEqual([403, 'forbidden']);
      }
    }
  });

  it('checks the token before the body', async () => {
    const reply = await as('wrong').post('/api/v1/jobs', '{"broken');
    expect(reply.status).toBe(401);
  });

  it('takes a signature in one spelling only', async () => {
    const token = await sign({ sub: 'acme', exp: now() + 3_600 });
    expect((await as(token).get('/api/v1/jobs')).status).toBe(200);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The last of 43 characters stands for four bits; the other two of it mean nothing.
    const last = alphabet.indexOf(token.at(-1)!);
    for (const other of [1, 2, 3].map((bits) => alphabet[(last & ~3) | ((last + bits) & 3)]!)) {
      expect((await as(token.slice(0, -1) + other).get('/api/v1/jobs')).status).toBe(401);
    }
    for (const more of ['=', 'A', '!', '==', '.'])
      expect((await as(token + more).get('/api/v1/jobs')).status).toBe(401);
  });

  it.each(['1e309', '9e999'])('refuses a token that never expires: %s', async (exp) => {
    const part = (json: string): string => Buffer.from(json).toString('base64url');
    const text = `${part('{"alg":"HS256"}')}.${part(`{"sub":"acme","exp":${exp}}`)}`;
    const signature = createHmac('sha256', JWT_SECRET).update(text).digest('base64url');
    expect((await as(`${text}.${signature}`).get('/api/v1/jobs')).status).toBe(401);
    const distant = `${part('{"alg":"HS256"}')}.${part('{"sub":"acme","exp":1e300}')}`;
    const valid = createHmac('sha256', JWT_SECRET).update(distant).digest('base64url');
    expect((await as(`${distant}.${valid}`).get('/api/v1/jobs')).status).toBe(200);
  });

  it('never reads the body of an unknown caller', async () => {
    const reply = await as('wrong').send('POST', '/api/v1/jobs', {
      body: 'x',
      headers: { 'content-type': 'text/html' },
    });
    expect(reply.status).toBe(401);
  });

  it('accepts the scheme in any case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'BeArEr']) {
      expect((await send(`${scheme} ${KEY_A}`, 'GET', '/api/v1/tasks')).status).toBe(200);
    }
  });

  it('identifies the tenant by its key', async () => {
    await as(KEY_A).get('/api/v1/stats');
    expect(engine.last('system.stats')).toEqual(['tenant-a']);
    await as(KEY_B).get('/api/v1/stats');
    expect(engine.last('system.stats')).toEqual(['tenant-b']);
  });

  it('needs no token for the probes and the documentation, and ignores one', async () => {
    for (const path of ['/health', '/ready', '/docs', '/openapi.json']) {
      for (const client of [nobody, as('garbage')]) expect((await client.get(path)).status).toBe(200);
    }
  });

  it('requires a credential before it says that a path does not exist', async () => {
    expect((await nobody.get('/api/v1/nowhere')).status).toBe(401);
    expect((await nobody.post('/api/v1/nowhere', '{"broken')).status).toBe(401);
    for (const client of [as(KEY_A), worker]) {
      expect((await client.get('/api/v1/nowhere')).body).toMatchObject({ code: 'not_found' });
    }
  });

  it('counts refusals by kind', async () => {
    const count = async (kind: string): Promise<number> => {
      const { values } = await metrics.authFailures.get();
      return values.find(({ labels }) => labels.kind === kind)?.value ?? 0;
    };
    const kinds = ['missing', 'invalid', 'worker_on_tenant_route', 'tenant_on_worker_route'];
    const before = await Promise.all(kinds.map(count));
    await nobody.get('/api/v1/jobs');
    await as('nonsense').get('/api/v1/jobs');
    await worker.get('/api/v1/jobs');
    await as(KEY_A).post('/api/v1/queues/q/lease');
    expect(await Promise.all(kinds.map(count))).toEqual(before.map((n) => n + 1));
  });

  describe('JWT', () => {
    const status = async (token: string): Promise<number> => (await as(token).get('/api/v1/stats')).status;

    it('takes the tenant from sub', async () => {
      expect(await status(await sign({ sub: 'acme', exp: now() + 3_600 }))).toBe(200);
      expect(engine.last('system.stats')).toEqual(['acme']);
    });

    it('works repeatedly, and for each token separately', async () => {
      const tokens = [await sign({ sub: 'one', exp: now() + 3_600 }), await sign({ sub: 'two', exp: now() + 60 })];
      for (const token of [...tokens, ...tokens]) {
        expect(await status(token)).toBe(200);
        expect(engine.last('system.stats')).toEqual([token === tokens[0] ? 'one' : 'two']);
      }
    });

    it.each([
      ['exp is past', { sub: 'acme', exp: now() - 1 }],
      ['exp is missing', { sub: 'acme' }],
      ['exp is no number', { sub: 'acme', exp: 'tomorrow' }],
      ['nbf lies ahead', { sub: 'acme', exp: now() + 7_200, nbf: now() + 3_600 }],
      ['sub is missing', { exp: now() + 3_600 }],
      ['sub is empty', { sub: '', exp: now() + 3_600 }],
      ['sub is a number', { sub: 7, exp: now() + 3_600 }],
      ['sub is null', { sub: null, exp: now() + 3_600 }],
      ['sub holds NUL', { sub: 'a\0b', exp: now() + 3_600 }],
      ['sub holds a lone surrogate', { sub: 'a\ud800', exp: now() + 3_600 }],
      ['sub is endless', { sub: 'a'.repeat(256), exp: now() + 3_600 }],
    ])('is refused when %s', async (_what, claims) => {
      expect(await status(await sign(claims))).toBe(401);
    });

    it.each(['HS384', 'HS512'])('is refused when signed with %s and the right secret', async (alg) => {
      expect(await status(await sign({ sub: 'acme', exp: now() + 3_600 }, alg))).toBe(401);
    });

    it('is refused when signed with another secret', async () => {
      expect(await status(await sign({ sub: 'acme', exp: now() + 3_600 }, 'HS256', 'another'))).toBe(401);
    });

    it('is refused when not signed', async () => {
      expect(await status(new UnsecuredJWT({ sub: 'acme', exp: now() + 3_600 }).encode())).toBe(401);
    });

    it('is refused when signed with a private key', async () => {
      const { privateKey } = await generateKeyPair('RS256');
      const token = await new SignJWT({ sub: 'acme', exp: now() + 3_600 })
        .setProtectedHeader({ alg: 'RS256' })
        .sign(privateKey);
      expect(await status(token)).toBe(401);
    });

    it('is refused if changed after signing', async () => {
      const [head, , signature] = (await sign({ sub: 'acme', exp: now() + 3_600 })).split('.');
      const claims = Buffer.from(JSON.stringify({ sub: 'other', exp: now() + 3_600 })).toString('base64url');
      expect(await status(`${head}.${claims}.${signature}`)).toBe(401);
    });
  });
});

describe('a JWT that has been verified', () => {
  afterEach(() => vi.useRealTimers());

  it('still expires', async () => {
    const { as, close } = await startApp();
    // From here on the time is what the test says, however slow the machine is.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    const token = await sign({ sub: 'acme', exp: now() + 30 });
    const status = async (): Promise<number> => (await as(token).get('/api/v1/stats')).status;
    expect(await status()).toBe(200);
    vi.setSystemTime(Date.now() + 29_000);
    expect(await status()).toBe(200);
    vi.setSystemTime(Date.now() + 1_000);
    expect(await status()).toBe(401);
    await close();
  });
});

describe('only static keys', () => {
  it('accept no JWT', async () => {
    const auth = {
      dev: false,
      apiKeys: new Map([[KEY_A, 'tenant-a']]),
      readKeys: new Map(),
      adminTokens: new Map(),
      jwtSecrets: [],
      workerTokens: new Map([[WORKER_TOKEN, null]]),
    };
    const { as, close } = await startApp({ auth });
    expect((await as(await sign({ sub: 'acme', exp: now() + 3_600 })).get('/api/v1/stats')).status).toBe(401);
    expect((await as(KEY_A).get('/api/v1/stats')).status).toBe(200);
    await close();
  });
});

describe('a key beyond ASCII', () => {
  it('is compared by the bytes that were sent', async () => {
    const auth = {
      dev: false,
      apiKeys: new Map([['clé', 'acme']]),
      readKeys: new Map(),
      adminTokens: new Map(),
      jwtSecrets: [],
      workerTokens: new Map(),
    };
    const { app, close } = await startApp({ auth });
    const authorization = `Bearer ${Buffer.from('clé').toString('latin1')}`;
    expect((await app.inject({ url: '/api/v1/stats', headers: { authorization } })).statusCode).toBe(200);
    await close();
  });
});

describe('development mode', async () => {
  const auth = {
    dev: true,
    apiKeys: new Map([[KEY_A, 'tenant-a']]),
    readKeys: new Map(),
    adminTokens: new Map(),
    jwtSecrets: [],
    workerTokens: new Map([[WORKER_TOKEN, null]]),
  };
  const { as, nobody, engine, url } = await useApp({ auth });

  it.each(['anything', KEY_A, WORKER_TOKEN])('accepts any token as tenant1: %s', async (token) => {
    expect((await as(token).get('/api/v1/stats')).status).toBe(200);
    expect(engine.last('system.stats')).toEqual(['tenant1']);
  });

  it('accepts any token on worker routes', async () => {
    expect((await as('anything').post('/api/v1/queues/q/lease')).body).toEqual({ jobs: [] });
  });

  it('still requires a token', async () => {
    expect((await nobody.get('/api/v1/stats')).status).toBe(401);
    expect((await nobody.post('/api/v1/queues/q/lease')).status).toBe(401);
    expect((await fetch(`${url}/api/v1/stats`, { headers: { authorization: 'Bearer  ' } })).status).toBe(401);
  });
});
