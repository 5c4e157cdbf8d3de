import type { Series } from '@millrace/contract';
import { roughly } from './format.js';
import { wholeSteps } from './series.js';

/** How fast jobs come into a queue and leave it, by the minute. */
export interface Flow {
  readonly in: number;
  readonly out: number;
}

/** Long enough to be steady, short enough to be about now. */
const WINDOW_SECS = 300;

/** Of the last five minutes, without what is still being written. */
export function flowOf({ from, step_secs, columns }: Series, now: number): Flow {
  const steps = Math.max(1, Math.round(WINDOW_SECS / step_secs));
  const end = wholeSteps(Date.parse(from), step_secs, columns.created.length, now);
  const perMinute = (values: readonly number[]): number => {
    const window = values.slice(Math.max(0, end - steps), end);
    const total = window.reduce((sum, n) => sum + n, 0);
    return window.length === 0 ? 0 : (total * 60) / (window.length * step_secs);
  };
  return { in: perMinute(columns.created), out: perMinute(columns.completed) + perMinute(columns.failed) };
}

/** "12/min", "0.4/min". */
export const rateWords = (perMinute: number): string =>
  perMinute === 0 ? '0/min' : `${perMinute < 10 ? Number(perMinute.toFixed(1)) || '< 0.1' : Math.round(perMinute)}/min`;

/** Differences below this part of the rate are chance. */
const STEADY = 0.02;

/** How long until nothing is due, at this rate. */
export function drainWords(due: number, { in: coming, out: leaving }: Flow): string {
  if (due === 0) return '–';
  const net = leaving - coming;
  if (net <= leaving * STEADY) return leaving === 0 ? 'not moving' : net < -leaving * STEADY ? 'growing' : 'holding';
  return roughly((due / net) * 60_000);
}
