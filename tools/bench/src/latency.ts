import { quantile } from '@millrace/tools-shared';

/** In milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export const latencyOf = (ms: readonly number[]): Latency => ({ p50: quantile(ms, 0.5), p99: quantile(ms, 0.99) });
