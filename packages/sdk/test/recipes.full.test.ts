import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { Millrace, silentLogger, task } from '@millrace/sdk';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import { installOutbox } from '@millrace/server';
import { parse } from 'pg-connection-string';
import ts from 'typescript';
import { afterAll, expect, it, onTestFinished, vi } from 'vitest';
import { emptyDatabase } from '../../server/test/support/database.js';
import { until } from '../../server/test/support/until.js';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../server/test/support/server.js';
import { blocksOf, compile, programFolder, runProgram, writeBlocks } from './support/programs.js';

const PAGE = readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8');
const application = await emptyDatabase();
afterAll(() => application.drop());
await installOutbox(application.url, { app: [], relay: [] });
await application.query('CREATE TABLE orders (id int GENERATED ALWAYS AS IDENTITY, sku text)');
const server = await useTestServer({ config: { mode: 'api', outbox: application.url, outboxToken: KEY_A } });

it('the recipes compile, enqueue in their transaction, and their workers do the work', async () => {
  const folder = await programFolder();
  // A monorepo is a folder of its own (recipes-around.full.test.ts).
  const blocks = blocksOf(PAGE).filter(({ name }) => /^(?!apps\/|packages\/).*\.ts$/.test(name));
  await writeBlocks(folder, blocks);
  await writeFile(join(folder, 'tsconfig.json'), '{"compilerOptions":{"experimentalDecorators":true}}');
  const problems = compile(
    blocks.map(({ name }) => join(folder, name)),
    folder,
    // As bundlers do, which Next is; the others would compile without.
    {
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      experimentalDecorators: true,
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    },
  );
  expect(problems).toEqual([]);
  vi.stubEnv('MILLRACE_URL', server.url);
  vi.stubEnv('MILLRACE_TOKEN', KEY_A);
  const { host, database, user, password, port: pgPort } = parse(application.url);
  const place = { PGHOST: host, PGDATABASE: database, PGUSER: user, PGPASSWORD: password, PGPORT: pgPort };
  for (const [name, value] of Object.entries(place)) if (value) vi.stubEnv(name, value);
  const load = (name: string): Promise<any> => import(join(folder, name));

  const { app: expressApp } = (await load('express.ts')) as { app: Express };
  const listening = expressApp.listen(0);
  onTestFinished(() => void listening.close());
  const { port } = listening.address() as AddressInfo;
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"sku":"a"}' };
  const answers: any[] = [await (await fetch(`http://127.0.0.1:${port}/orders`, json)).json()];

  const { app: fastify } = (await load('fastify.ts')) as { app: FastifyInstance };
  onTestFinished(() => fastify.close());
  answers.push((await fastify.inject({ method: 'POST', url: '/orders', payload: { sku: 'b' } })).json());

  const { POST } = await load('app/orders/route.ts');
  answers.push(await (await POST(new Request('http://shop/orders', json))).json());

  const nest = await NestFactory.create((await load('nest.ts')).AppModule, { logger: false });
  onTestFinished(() => nest.close());
  await nest.listen(0);
  answers.push(await (await fetch(`${await nest.getUrl()}/orders`, json)).json());
  expect(answers).toEqual([1, 2, 3, 4].map((orderId) => ({ orderId })));

  const millrace = new Millrace({ url: server.url, token: KEY_A, logger: silentLogger });

  const env = { MILLRACE_URL: server.url, MILLRACE_WORKER_TOKEN: WORKER_TOKEN };
  const ended = async (orderId: number): Promise<unknown> => {
    const job = await until(async () => (await millrace.jobs.list({ key: `receipt-${orderId}` }).toArray())[0]);
    return millrace.jobs.handle(task({ name: 'send_receipt' }), job.id).result();
  };
  const worker = runProgram(join(folder, 'worker.js'), env);
  for (const n of [1, 2, 3, 4]) expect(await ended(n)).toEqual({ messageId: `receipt-${n}` });
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
  const { GET } = await load('app/orders/[id]/route.ts');
  const seen = await GET(new Request('http://shop'), { params: Promise.resolve({ id: '1' }) });
  expect(await seen.json()).toMatchObject({ status: 'completed', result: { messageId: 'receipt-1' } });

  const late = await (await POST(new Request('http://shop/orders', json))).json();
  const nestWorker = runProgram(join(folder, 'nest-worker.js'), env);
  expect(await ended(late.orderId)).toEqual({ messageId: 'sent-by-nest-5' });
  nestWorker.child.kill('SIGTERM');
  expect(await nestWorker.ended).toBe(0);
});
