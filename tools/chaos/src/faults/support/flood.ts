import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** More callers than a service has room for, on one queue that nobody works on. */
export interface FloodOrder {
  readonly port: number;
  readonly token: string;
  readonly queue: string;
  readonly callers: number;
  /** How many of them send bodies of this size. */
  readonly large: number;
  readonly largeBytes: number;
}

export interface FloodReport {
  /** How long each took that was let in. */
  readonly acceptedMs: number[];
  readonly ids: string[];
  refused: number;
  /** Refusals without Retry-After or in another shape than the documented one. */
  rude: number;
  /** Any other status, with its count. */
  readonly odd: Record<number, number>;
  /** Connections that ended before the flood did. */
  cutOff: number;
}

/** Begins at once; `during` decides how long it lasts. */
export async function flood(order: FloodOrder, during: () => Promise<void>): Promise<FloodReport> {
  const thread = new Worker(new URL('../../actors/flood.js', import.meta.url), { workerData: order });
  const failed = once(thread, 'error').then(([error]) => {
    throw error as Error;
  });
  try {
    await Promise.race([during(), failed]);
    const told = once(thread, 'message') as Promise<[FloodReport]>;
    thread.postMessage('stop');
    const [report] = await Promise.race([told, failed]);
    return report;
  } finally {
    failed.catch(() => undefined);
    await thread.terminate();
  }
}

/** The time within which the given part of them were answered. */
export function percentile(times: readonly number[], part: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}
