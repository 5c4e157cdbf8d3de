import { spanMs } from './filters.js';
import { serverNow } from '../lib/clock.js';

/** Spans are cut to the minute, so that the address of the request stays the same from poll to poll. */
const MINUTE = 60_000;

/** The instant at which a span by its name begins. */
export function beginOf(span: string | undefined): string | undefined {
  const ms = spanMs(span);
  if (ms === undefined) return undefined;
  return new Date(Math.floor((serverNow() - ms) / MINUTE) * MINUTE).toISOString();
}
