import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { NestFactory } from '@nestjs/core';
import { Millrace, silentLogger, task } from '@millrace/sdk';
import type { Express } from 'express';
import type { FastifyInstance } from 'fastify';
import ts from 'typescript';
import { expect, it, onTestFinished, vi } from 'vitest';
import { KEY_A, useTestServer, WORKER_TOKEN } from '../../server/test/support/server.js';
import { compile, programFolder, runProgram } from './support/programs.js';

const PAGE = readFileSync(new URL('../../../docs/recipes.md', import.meta.url), 'utf8');
/** What the page leaves to its reader. */
const DATABASE = `let orders = 0;\nexport const saveOrder = async (_: { sku: string }): Promise<number> => ++orders;\n`;
const server = await useTestServer({ config: { mode: 'api' } });

it('the recipes compile, enqueue after the commit, and their workers do the work', async () => {
  const folder = await programFolder();
  const blocks = [...PAGE.matchAll(/```ts\n\/\/ (\S+)\n(.*?)```/gs)].map(([, name = '', code = '']) => ({
    name,
    code,
  }));
  for (const { name, code } of [...blocks, { name: 'database.ts', code: DATABASE }]) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), code);
  }
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
  expect(answers).toEqual([1, 2, 3, 4].map((orderId) => ({ orderId, jobId: expect.any(String) })));

  const millrace = new Millrace({ url: server.url, token: KEY_A, logger: silentLogger });
  const keys = await Promise.all(answers.map(async ({ jobId }) => (await millrace.jobs.get(jobId)).key));
  expect(keys).toEqual(['receipt-1', 'receipt-2', 'receipt-3', 'receipt-4']);

  const env = { MILLRACE_URL: server.url, MILLRACE_WORKER_TOKEN: WORKER_TOKEN };
  const ended = (id: string): Promise<unknown> => millrace.jobs.handle(task({ name: 'send_receipt' }), id).result();
  const worker = runProgram(join(folder, 'worker.js'), env);
  expect(await ended(answers[0].jobId)).toEqual({ messageId: 'receipt-1' });
  worker.child.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
  const { GET } = await load('app/jobs/[id]/route.ts');
  const seen = await GET(new Request('http://shop'), { params: Promise.resolve({ id: answers[0].jobId }) });
  expect(await seen.json()).toMatchObject({ status: 'completed', result: { messageId: 'receipt-1' } });

  const late = await (await POST(new Request('http://shop/orders', json))).json();
  const nestWorker = runProgram(join(folder, 'nest-worker.js'), env);
  expect(await ended(late.jobId)).toEqual({ messageId: 'sent-by-nest-5' });
  nestWorker.child.kill('SIGTERM');
  expect(await nestWorker.ended).toBe(0);
});
