import { setMaxListeners } from 'node:events';
import { Random } from '@millrace/tools-shared';
import type { Api } from './api.js';
import { fill, furnish, keepMoving, type Tenant, type TrafficOptions } from './traffic.js';
import { runWorkers } from './workers.js';

export interface DemoOptions {
  readonly tenants: readonly Tenant[];
  /** Leases jobs of every tenant. */
  readonly workers: Api;
  readonly seed: number;
  /** Jobs per minute, over all tenants. */
  readonly rate: number;
  readonly fill: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
  /** Makes every attempt take this many times as long; 1 if omitted. */
  readonly pace?: number;
}

/** Plays until `signal` is aborted; rejects only for what is wrong with the demonstration itself. */
export async function play({
  tenants,
  workers,
  seed,
  rate,
  fill: count,
  signal,
  say,
  pace,
}: DemoOptions): Promise<void> {
  // Every request in flight listens to it; their number is bounded by the workers' slots.
  setMaxListeners(0, signal);
  const random = new Random(seed);
  const total = tenants.reduce((sum, { share }) => sum + share, 0);
  const traffic = tenants.map((tenant): TrafficOptions => ({
    tenant,
    rate: (rate * tenant.share) / total,
    random: random.fork(tenant.name),
    signal,
    say,
  }));
  try {
    const [first] = traffic;
    if (first && count > 0) await fill(first, count);
    for (const [index, options] of traffic.entries()) await furnish(options, index === 0);
    say('everything is in place; it goes on until Ctrl-C');
    await Promise.all([runWorkers(workers, random.fork('workers'), signal, pace), ...traffic.map(keepMoving)]);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
