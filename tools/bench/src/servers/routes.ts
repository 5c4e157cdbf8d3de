import type { AddressInfo } from 'node:net';
import { createLogger } from '@millrace/server';
import { createApp, Metrics, type Engine } from '@millrace/server/testing';
import { fastify } from 'fastify';
import { serveCalls } from '../env/child.js';
import { QUEUE, TENANT, TENANT_KEY, WORKER_TOKEN } from '../work.js';

/**
 * Two servers without a database, to measure what HTTP alone costs:
 *
 *   empty   the service's own copy of Fastify with one route that parses a small JSON body and answers
 *   route   the service's own application (credentials, validation, hooks, metrics) over an engine that answers at once
 */
const JOB_ID = '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10';

const methods = {
  start: async (): Promise<{ empty: number; route: number }> => ({
    empty: await startEmpty(),
    route: await startRoute(),
  }),
};

export type RoutesMethods = typeof methods;

async function startEmpty(): Promise<number> {
  const app = fastify();
  const answer = { job_id: JOB_ID };
  app.post('/api/v1/jobs', (_request, reply) => reply.code(201).send(answer));
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

async function startRoute(): Promise<number> {
  const app = createApp({
    engine: instantEngine(),
    auth: {
      dev: false,
      apiKeys: new Map([[TENANT_KEY, TENANT]]),
      readKeys: new Map(),
      jwtSecrets: [],
      workerTokens: new Map([[WORKER_TOKEN, null]]),
      adminTokens: new Map(),
    },
    defaultQueue: QUEUE,
    corsOrigins: null,
    maxBodyBytes: 16 * 1024 * 1024,
    maxPayloadBytes: 4 * 1024 * 1024,
    maxInFlight: 10_000,
    maxConnections: 10_000,
    logger: createLogger({ level: 'warn', format: 'json' }),
    metrics: new Metrics(),
    version: 'bench',
    isShuttingDown: () => false,
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

/** Has only what the measured route calls. */
function instantEngine(): Engine {
  const jobs: Pick<Engine['jobs'], 'create'> = {
    create: async () => ({ id: JOB_ID, replayed: false }),
  };
  return { jobs } as Engine;
}

serveCalls(methods);
