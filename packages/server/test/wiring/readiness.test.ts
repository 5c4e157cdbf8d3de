import { describe, expect, it, onTestFinished } from 'vitest';
import { Readiness } from '../../src/wiring/readiness.js';
import { startApp } from '../http/harness.js';

describe('GET /ready', () => {
  it('asks the database once per second, whoever asks', async () => {
    const clock = { now: 0 };
    const asked: boolean[] = [];
    let serving = true;
    const ask = async (): Promise<boolean> => (asked.push(serving), serving);
    const readiness = new Readiness(ask, () => clock.now);
    const app = await startApp({ engine: { system: { ready: () => readiness.ready() } } });
    onTestFinished(() => app.close());
    const statuses = async (): Promise<Set<number>> =>
      new Set((await Promise.all(Array.from({ length: 50 }, () => app.nobody.get('/ready')))).map((r) => r.status));

    expect(await statuses()).toEqual(new Set([200]));
    serving = false;
    clock.now = 999;
    expect(await statuses()).toEqual(new Set([200]));
    clock.now = 1_000;
    expect(await statuses()).toEqual(new Set([503]));
    expect(asked).toEqual([true, false]);
  });
});
