// Takes the lock again and again, and reports if it ever meets another live holder: lock-user.mjs MODULE DIR ROUNDS
import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [module, dir, rounds] = process.argv.slice(2);
const { withLock } = await import(pathToFileURL(module).href);
const inside = join(dir, '..', 'inside');
const say = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);

const isRunning = (pid) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1][0] !== 'Z';
  } catch {
    return false;
  }
};

say('started');
for (let round = 0; round < Number(rounds); round++) {
  await withLock(dir, async () => {
    let file;
    try {
      file = openSync(inside, 'wx');
    } catch {
      const pid = Number(readFileSync(inside, 'utf8'));
      // A killed holder leaves its mark; only a live one means that the lock failed. (0: killed before it wrote.)
      if (pid !== 0 && isRunning(pid)) say('violation', { pid });
      rmSync(inside, { force: true });
      file = openSync(inside, 'wx');
    }
    writeSync(file, String(process.pid));
    closeSync(file);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 4));
    rmSync(inside);
  });
}
say('done');
