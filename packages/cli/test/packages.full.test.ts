import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

it('the packages, packed and unpacked, hold all that they need and run without a warning', async () => {
  const script = fileURLToPath(new URL('../../../scripts/packages.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, '--linked']);
  expect(stdout).toMatch(/^ok {4}contents of @millrace\/dashboard/m);
  expect(stdout).toMatch(/^ok {4}@millrace\/sdk alone brings nothing else/m);
  expect(stdout).toMatch(/^ok {4}service, client and worker on Node /m);
});
