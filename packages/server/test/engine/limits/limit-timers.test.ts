import { describe, expect, it, vi, beforeEach, afterEach } from 'vitest';
import fc from 'fast-check';
import { LimitTimers } from '../../../src/engine/limits/limit-timers.js';
import { Admitter } from '../../../src/engine/limits/admitter.js';
import type { EngineMetrics } from '../../../src/engine/shared/counters.js';
import { Hub } from '../../../src/engine/shared/hub.js';
import type { Database, Execute } from '../../../src/store/connection/database.js';
import { cases } from '../../support/cases.js';

describe('the timers of limits', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('have each limit looked at when it was set for last, in order, however many there are', () => {
    const sets = fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 0, max: 5_000 })), { maxLength: 300 });
    fc.assert(
      fc.property(sets, (all) => {
        const startedAt = performance.now();
        const looked: [string, number][] = [];
        const timers = new LimitTimers((limits) => {
          for (const limit of limits) looked.push([limit, performance.now() - startedAt]);
        });
        const last = new Map<string, number>();
        for (const [limit, ms] of all) {
          timers.set(String(limit), ms);
          last.set(String(limit), ms);
        }
        vi.advanceTimersByTime(6_000);
        expect(looked.map(([limit]) => limit).sort()).toEqual([...last.keys()].sort());
        for (const [limit, at] of looked) {
          expect(at).toBeGreaterThanOrEqual(last.get(limit)! - 2);
          expect(at).toBeLessThanOrEqual(last.get(limit)! + 1);
        }
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: cases(100) },
    );
  });

  it('forget what was set for an instant that has been seen to, and not what was set since', () => {
    const looked: string[] = [];
    const timers = new LimitTimers((limits) => looked.push(...limits));
    for (const limit of ['seen to', 'set since']) timers.set(limit, 100);
    vi.advanceTimersByTime(50);
    const since = performance.now();
    vi.advanceTimersByTime(20);
    timers.set('set since', 100);
    for (const limit of ['seen to', 'set since', 'never set']) timers.forget(limit, since + 100);
    vi.advanceTimersByTime(1_000);
    expect(looked).toEqual(['set since']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keep more than a thousand limits at their pace, and forget all when they are stopped', () => {
    const looks = new Map<string, number>();
    const timers = new LimitTimers((limits) => {
      for (const limit of limits) {
        looks.set(limit, (looks.get(limit) ?? 0) + 1);
        timers.set(limit, 100);
      }
    });
    for (let n = 0; n < 20_000; n++) timers.set(`limit ${n}`, n / 200);
    vi.advanceTimersByTime(1_000);
    expect(looks.size).toBe(20_000);
    expect(Math.min(...looks.values())).toBeGreaterThanOrEqual(9);
    timers.stop();
    const before = [...looks.values()];
    vi.advanceTimersByTime(1_000);
    expect([...looks.values()]).toEqual(before);
  });
});

describe('looks at limits that fail', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('are made again a moment later, of all limits that were to be looked at', async () => {
    const ids = Array.from({ length: 500 }, (_, n) => `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`);
    let isAway = true;
    const looked = new Set<string>();
    const execute: Execute = async <R extends object>(statement: { readonly values: readonly unknown[] }) => {
      const given = Buffer.from(statement.values[0] as Buffer).toString('hex');
      const asked = ids.filter((id) => given.includes(id.replaceAll('-', '')));
      for (const id of asked) looked.add(id);
      return asked.map((id) => ({ id, held: false })) as unknown as R[];
    };
    const db = {
      transaction: async <T>(body: (execute: Execute) => Promise<T>) => {
        if (isAway) throw new Error('away');
        return body(execute);
      },
    };
    const hub = new Hub();
    const admitter = new Admitter(
      db as unknown as Database,
      hub,
      new Proxy({}, { get: () => () => undefined }) as EngineMetrics,
    );
    hub.announceLimits({ limits: ids, slept: false });
    await vi.advanceTimersByTimeAsync(500);
    expect(looked.size).toBe(0);
    isAway = false;
    await vi.advanceTimersByTimeAsync(600);
    expect(looked.size).toBe(ids.length);
    await vi.advanceTimersByTimeAsync(10_000);
    await admitter.stop();
  });
});
