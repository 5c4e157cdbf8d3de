import { until } from '@millrace/tools-shared';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  KEY_A,
  KEY_B,
  startTestServer,
  WORKER_TOKEN,
  type TestServer,
} from '../../../packages/server/test/support/server.js';
import { Api } from '../src/api.js';
import { play } from '../src/run.js';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

interface Counts {
  jobs: Record<'pending' | 'scheduled' | 'retrying' | 'completed' | 'failed', { n: number }>;
  workflows: Record<'completed', { n: number }>;
}

it('fills a server with something of everything, for each tenant, and stops when asked to', async () => {
  const stop = new AbortController();
  const a = new Api(server.url, KEY_A, stop.signal);
  const b = new Api(server.url, KEY_B, stop.signal);
  const complaints: string[] = [];
  const playing = play({
    tenants: [
      { name: 'a', api: a, share: 2 },
      { name: 'b', api: b, share: 1 },
    ],
    workers: new Api(server.url, WORKER_TOKEN, stop.signal),
    seed: 4711,
    rate: 2000,
    fill: 10,
    pace: 0.01,
    signal: stop.signal,
    say: (text) => void complaints.push(text),
  });
  await until(
    async () => {
      const { jobs, workflows } = await a.call<Counts>('GET', '/counts');
      const { groups } = await a.call<{ groups: unknown[] }>('GET', '/dlq/groups');
      const missing = [
        ...(['scheduled', 'retrying', 'completed', 'failed'] as const).filter((state) => jobs[state].n === 0),
        ...(workflows.completed.n === 0 ? ['completed workflows'] : []),
        ...(groups.length < 3 ? ['dead letters of three kinds'] : []),
      ];
      return missing.length === 0 || `still missing: ${missing.join(', ')}`;
    },
    { what: 'something of everything', everyMs: 100 },
  );
  const { crons } = await b.call<{ crons: { name: string; enabled: boolean }[] }>('GET', '/cron');
  expect(crons.filter(({ enabled }) => !enabled).map(({ name }) => name)).toEqual(['old-import']);
  expect(crons.length).toBeGreaterThan(5);
  const { jobs } = await a.call<{ jobs: { id: string }[] }>('GET', '/jobs?task=charge_card&view=summary&limit=1');
  const headers = { authorization: `Bearer ${KEY_A}` };
  const charge = await (await fetch(`${server.url}/api/v1/jobs/${jobs[0]!.id}`, { headers })).text();
  // Numbers that a careless client would change.
  expect(charge).toMatch(/"account": ?9007199254740993, ?"amount": ?\d+\.\d0/);
  stop.abort();
  await playing;
  expect(complaints).toEqual(['filled 10 of 10', 'everything is in place; it goes on until Ctrl-C']);
});
