import { fileURLToPath } from 'node:url';
import { runKit, type KitOptions, type ScenarioResult } from '@millrace/conformance';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../../server/test/support/server.js';

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/** Those of durable jobs. */
const DURABLE = [35, 36, 37, 38, 39, 40, 41, 42, 43, 44];

/** Those that take a few seconds; `npm run conformance` runs all of them. */
const QUICK = [1, 2, 3, 4, 5, 6, 8, 11, 14, 17, 20, 21, 22, 25, 27, 28, 30, 31, 32, 33, ...DURABLE];

/** Where the two ways to report and to heartbeat differ. */
const PROTOCOL = [3, 14, 17, 20, 25, 27];

describe('the worker of the SDK conforms', async () => {
  const { url: serverUrl } = await useTestServer({ config: { mode: 'api', dev: true } });
  const check = (options: Pick<KitOptions, 'only' | 'plain'>): Promise<ScenarioResult[]> =>
    runKit({ command: [process.execPath, WORKER], serverUrl, sideBySide: 4, ...options });

  it('with gathered calls', async () => {
    const results = await check({ only: QUICK });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ number }) => number)).toEqual(QUICK);
  });

  it('with a server that knows only the plain protocol', async () => {
    const results = await check({ only: PROTOCOL, plain: true });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ number }) => number)).toEqual(PROTOCOL);
  });
});
