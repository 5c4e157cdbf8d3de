import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withLock } from '../../src/embedded/lock.js';
import { spawnMillrace, type TestProcess } from '../support/processes.js';

const MODULE = fileURLToPath(new URL('../../dist/embedded/lock.js', import.meta.url));
const SCRIPT = fileURLToPath(new URL('lock-user.mjs', import.meta.url));

let home: string;
let dir: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'millrace-lock-'));
  dir = join(home, 'lock');
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const user = (rounds: number): TestProcess => spawnMillrace({ script: SCRIPT, args: [MODULE, dir, String(rounds)] });
const events = (process: TestProcess): unknown[] => process.log().map((line) => line.event);

describe('the lock of an embedded database', () => {
  it('lets one in at a time, in one process', async () => {
    let inside = 0;
    let most = 0;
    const turns = Array.from({ length: 20 }, () =>
      withLock(dir, async () => {
        most = Math.max(most, ++inside);
        await new Promise((resolve) => setImmediate(resolve));
        inside--;
      }),
    );
    await Promise.all(turns);
    expect(most).toBe(1);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('is released if its holder fails, and reports that it has to wait', async () => {
    let waited = 0;
    let onWait!: () => void;
    const waiting = new Promise<void>((resolve) => {
      onWait = () => {
        waited++;
        resolve();
      };
    });
    // The holder fails only once the other one has reported that it is waiting.
    const failing = withLock(dir, () => waiting.then(() => Promise.reject(new Error('broken'))));
    const next = withLock(dir, async () => 'in', { onWait });
    await expect(failing).rejects.toThrow('broken');
    expect(await next).toBe('in');
    expect(waited).toBe(1);
  });

  it('lets one in at a time across processes, and survives a kill -9 of its holder', async () => {
    const steady = Array.from({ length: 4 }, () => user(60));
    const victims = Array.from({ length: 6 }, () => user(Infinity));
    for (const victim of victims) {
      await victim.logged((line) => line.event === 'started');
      victim.signal('SIGKILL');
      await victim.exited;
    }
    for (const child of steady) expect((await child.exited).code).toBe(0);
    for (const child of steady) expect(events(child)).toEqual(['started', 'done']);
    for (const child of victims) expect(events(child)).toEqual(['started']);
  });
});
