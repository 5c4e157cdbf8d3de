import { describe, expect, it } from 'vitest';
import { JOB_ID, useApp } from '../harness.js';
import { document, operations } from './document.js';

describe('the API description', async () => {
  const { nobody, a, app } = await useApp();

  it('is OpenAPI 3.1 of version 1.0.0', () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(document.info.version).toBe('1.0.0');
  });

  it('is the document that the server serves', async () => {
    const reply = await nobody.get('/openapi.json');
    expect(reply.headers.get('content-type')).toMatch(/^application\/json/);
    expect(reply.body).toEqual(document);
  });

  it('covers every route, and none that does not exist', () => {
    const described = operations.map(({ path, method }) => `${method.toUpperCase()} ${path}`);
    const expected = [
      'GET /api/v1/dlq',
      'GET /api/v1/dlq/{id}',
      'GET /api/v1/jobs',
      'GET /api/v1/jobs/{id}',
      'GET /api/v1/jobs/{id}/events',
      'GET /api/v1/queues',
      'GET /api/v1/stats',
      'GET /api/v1/tasks',
      'GET /health',
      'GET /ready',
      'POST /api/v1/dlq/{id}/replay',
      'POST /api/v1/jobs',
      'POST /api/v1/jobs/batch',
      'POST /api/v1/jobs/{id}/cancel',
      'POST /api/v1/jobs/{id}/complete',
      'POST /api/v1/jobs/{id}/fail',
      'POST /api/v1/jobs/{id}/heartbeat',
      'POST /api/v1/queues/{queue}/lease',
    ];
    expect(described).toEqual(expect.arrayContaining(expected));
    for (const { path, method } of operations) {
      const url = path.replaceAll(/\{(\w+)\}/g, ':$1');
      expect(app.hasRoute({ url, method: method.toUpperCase() })).toBe(true);
    }
  });

  it('says what each operation does, who may call it and how it fails', () => {
    expect(new Set(operations.map(({ operation }) => operation.operationId)).size).toBe(operations.length);
    for (const { path, operation } of operations) {
      expect(operation.summary, path).toBeTruthy();
      expect(operation.tags, path).toHaveLength(1);
      const kinds = path.endsWith('/whoami') ? 3 : operation.operationId === 'listCheckpoints' ? 2 : 1;
      expect(operation.security.length, path).toBe(path.startsWith('/api/v1') ? kinds : 0);
      for (const parameter of operation.parameters ?? []) expect(parameter.description, path).toBeTruthy();
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(response.description, `${path} ${status}`).not.toBe('Default Response');
        if (Number(status) >= 400) {
          expect(response.content?.['application/json']?.schema.$ref).toBe('#/components/schemas/Error');
        }
        if (Number(status) === 204) expect(response.content).toBeUndefined();
      }
      if (path.startsWith('/api/v1')) expect(Object.keys(operation.responses), path).toContain('401');
    }
  });

  it('refers only to what it contains', () => {
    for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)) {
      expect(document.components.schemas).toHaveProperty(name!);
    }
    for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/headers\/([^"]+)"/g)) {
      expect(document.components.headers).toHaveProperty(name!);
    }
    expect(JSON.stringify(document)).not.toMatch(/"\$ref":"(?!#\/components\/(?:schemas|headers)\/)/);
  });

  it('says that every operation except a read refuses a broken body, and a credential that may only read', async () => {
    const path = `/api/v1/jobs/${JOB_ID}/cancel`;
    const refused = await a.send('POST', path, { body: '{', headers: { 'content-type': 'application/json' } });
    expect(refused.status).toBe(400);
    const others = operations.filter(({ method }) => method !== 'get');
    expect(others.map(({ operation }) => operation.operationId)).toContain('cancelJob');
    for (const { operation } of others) {
      expect(Object.keys(operation.responses), operation.operationId).toEqual(
        expect.arrayContaining(['400', '403', '413', '415']),
      );
    }
  });

  it('says that a lease needs no body', () => {
    expect(document.paths['/api/v1/queues/{queue}/lease']?.post?.requestBody?.required).toBe(false);
    expect(document.paths['/api/v1/jobs']?.post?.requestBody?.required).toBe(true);
  });
});

describe('the documentation page', async () => {
  const { nobody } = await useApp();

  it('loads every asset from this server, as its policy allows', async () => {
    const page = await nobody.get('/docs');
    expect(page.headers.get('content-type')).toMatch(/^text\/html/);
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("script-src 'self'");
    expect(policy).not.toMatch(/https?:/);
    const assets = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url!);
    expect(assets.length).toBeGreaterThan(3);
    for (const asset of assets) {
      expect(asset).not.toMatch(/^(?:https?:)?\/\//);
      const { pathname } = new URL(asset, 'http://x/docs');
      expect([pathname, (await nobody.get(pathname)).status]).toEqual([pathname, 200]);
    }
    expect(page.text).not.toMatch(/<script>|<script [^>]*>\s*[^<\s]/);
  });

  it('shows the document that the server serves', async () => {
    expect((await nobody.get('/docs/static/swagger-initializer.js')).text).toContain("resolveUrl('./json')");
    expect((await nobody.get('/docs/json')).body).toEqual((await nobody.get('/openapi.json')).body);
    expect((await nobody.get('/docs/')).status).toBe(200);
  });
});
