import { once } from 'node:events';
import { Worker } from 'node:worker_threads';

/** More callers than a service has room for, all creating jobs on one queue that nobody works on. */
export interface FloodOrder {
  readonly port: number;
  readonly token: string;
  readonly queue: string;
  readonly callers: number;
  /** How many of them send bodies of `largeBytes`. */
  readonly large: number;
  readonly largeBytes: number;
}

export interface FloodReport {
  /** How long each accepted request took. */
  readonly acceptedMs: number[];
  readonly ids: string[];
  refused: number;
  /** Refusals without Retry-After, or not in the documented form. */
  malformedRefusals: number;
  /** How often each other status was answered. */
  readonly otherStatuses: Record<number, number>;
  /** Connections that ended before the flood did. */
  cutOff: number;
}

/** Starts at once and lasts for as long as `during` runs. */
export async function flood(order: FloodOrder, during: () => Promise<void>): Promise<FloodReport> {
  const thread = new Worker(new URL('../actors/flood.js', import.meta.url), { workerData: order });
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
