import { setTimeout as delay } from 'node:timers/promises';
import type { Context } from '../invocation/context.js';
import type { Values, WATCH } from '../specs/spec.js';
import { durationMs } from '../invocation/values.js';

const CLEAR = '\u{1b}[H\u{1b}[2J\u{1b}[3J';
const LEAST_MS = 100;

type Watched = Pick<Context, 'io' | 'signal'> & { readonly options: Values<typeof WATCH> };

/** Shows something once, or with `--watch` again and again: on a terminal in place, elsewhere one after the other. */
export async function refreshing({ options, io, signal }: Watched, show: () => Promise<number>): Promise<number> {
  const ms = Math.max(LEAST_MS, durationMs('interval', options.interval) ?? 2_000);
  if (!options.watch) return show();
  for (;;) {
    if (io.terminal.stdout) await io.print(CLEAR);
    await show();
    await delay(ms, undefined, { signal });
  }
}
