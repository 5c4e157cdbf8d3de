import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { allProcesses, processStat } from '../src/processes.js';

it.runIf(process.platform === 'linux')('finds a child by its parent, whatever its name', async () => {
  // The name of a process may contain what separates the fields.
  const child = spawn(process.execPath, ['-e', 'process.title = "a) b ("; console.log(1); setInterval(() => {}, 1e6)']);
  await once(child.stdout, 'data');
  try {
    expect(processStat(child.pid!)).toMatchObject({ pid: child.pid, parent: process.pid });
    expect(allProcesses().filter(({ parent }) => parent === process.pid)).toContainEqual(
      expect.objectContaining({ pid: child.pid }),
    );
  } finally {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  expect(processStat(child.pid!)).toBeNull();
});
