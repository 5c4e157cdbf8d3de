import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { RelayMetrics, type OutboxGauge } from '../../src/telemetry/relay-metrics.js';

const GAUGES = ['waiting', 'oldest_age_seconds', 'refused'];

/** One scrape: what each gauge of the outbox says, or undefined if it is not on the page. */
async function scrape(registry: Registry): Promise<(string | undefined)[]> {
  const page = await registry.metrics();
  return GAUGES.map((name) => new RegExp(`^millrace_outbox_${name} (.*)$`, 'm').exec(page)?.[1]);
}

describe('gauges of the outbox', () => {
  it('all say what it is like at this scrape, by one read of it', async () => {
    const registry = new Registry();
    let outbox: OutboxGauge = { waiting: 3, oldest_secs: 40, refused: 2 };
    let reads = 0;
    const gauge = (): Promise<OutboxGauge> => {
      reads += 1;
      return Promise.resolve(outbox);
    };
    new RelayMetrics(registry, { gauge, isUp: () => true });
    expect(await scrape(registry)).toEqual(['3', '40', '2']);
    outbox = { waiting: 0, oldest_secs: null, refused: 1 };
    expect(await scrape(registry)).toEqual(['0', '0', '1']);
    expect(reads).toBe(2);
  });

  it('all leave the page as soon as the database of the application does not answer, and come back with it', async () => {
    const registry = new Registry();
    let isAway = false;
    const gauge = (): Promise<OutboxGauge> =>
      isAway ? Promise.reject(new Error('away')) : Promise.resolve({ waiting: 1, oldest_secs: 5, refused: 1 });
    new RelayMetrics(registry, { gauge, isUp: () => !isAway });
    expect(await scrape(registry)).toEqual(['1', '5', '1']);
    isAway = true;
    expect(await scrape(registry)).toEqual([undefined, undefined, undefined]);
    isAway = false;
    expect(await scrape(registry)).toEqual(['1', '5', '1']);
  });
});
