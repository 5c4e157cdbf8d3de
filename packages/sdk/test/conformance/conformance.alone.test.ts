import { fileURLToPath } from 'node:url';
import { runKit } from '@millrace/conformance';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../../server/test/support/server.js';

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/** Those of durable jobs. */
const DURABLE = [35, 36, 37, 38, 39, 40, 41, 42, 43, 44];

/** Those that take a few seconds; `npm run conformance` runs all of them. */
const QUICK = [1, 2, 3, 4, 5, 6, 8, 11, 14, 17, 20, 21, 22, 25, 27, 28, 30, 31, 32, 33, ...DURABLE];

describe('the worker of the SDK conforms', async () => {
  const { url: serverUrl } = await useTestServer({ config: { mode: 'api', dev: true } });

  it('with gathered calls', async () => {
    const results = await runKit({ command: [process.execPath, WORKER], serverUrl, sideBySide: 4, only: QUICK });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ number }) => number)).toEqual(QUICK);
  });
});
