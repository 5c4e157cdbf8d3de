import { fileURLToPath } from 'node:url';
import { runKit } from '@millrace/conformance';
import { expect, it } from 'vitest';
import { useTestServer } from '../../../server/test/support/server.js';

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/** Those that take a few seconds; `npm run conformance` runs all of them. */
const QUICK = [1, 2, 3, 4, 5, 6, 8, 11, 14, 17, 20, 21, 22, 25, 27, 28, 30, 31, 32, 33];

it('the worker of the SDK conforms', { timeout: 120_000 }, async () => {
  const { url: serverUrl } = await useTestServer({ config: { mode: 'api', dev: true } });
  const results = await runKit({ command: [process.execPath, WORKER], serverUrl, only: QUICK, sideBySide: 4 });
  expect(results.filter(({ passed }) => !passed)).toEqual([]);
  expect(results.map(({ number }) => number)).toEqual(QUICK);
});
