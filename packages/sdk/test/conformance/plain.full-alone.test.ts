import { fileURLToPath } from 'node:url';
import { runKit } from '@millrace/conformance';
import { describe, expect, it } from 'vitest';
import { useTestServer } from '../../../server/test/support/server.js';

const WORKER = fileURLToPath(new URL('./worker.mjs', import.meta.url));

/** Where the two ways to report and to heartbeat differ. */
const PROTOCOL = [3, 14, 17, 20, 25, 27];

describe('the worker of the SDK conforms', async () => {
  const { url: serverUrl } = await useTestServer({ config: { mode: 'api', dev: true } });

  it('with a server that knows only the plain protocol', async () => {
    const results = await runKit({
      command: [process.execPath, WORKER],
      serverUrl,
      sideBySide: 4,
      only: PROTOCOL,
      plain: true,
    });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ number }) => number)).toEqual(PROTOCOL);
  });
});
