import { beginOfSpan } from '../lib/clock.js';
import type { Since } from '../api/hooks.js';
import { spanMs } from './tables/filters.js';

/** The instant at which a span by its name begins. */
export function beginOf(span: string | undefined): string | undefined {
  const ms = spanMs(span);
  return ms === undefined ? undefined : beginOfSpan(ms);
}

/** A span by its name as what to read: everything since it began, by this parameter. */
export function sinceOf(parameter: string, span: string | undefined): Since | undefined {
  const ms = spanMs(span);
  return ms === undefined ? undefined : { parameter, spanMs: ms };
}
