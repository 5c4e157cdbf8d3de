import type { Rate } from '../../rules/index.js';
import { keyUse, type KeyUse } from './limits.js';
import { inClaimOrder, isWaiting } from './settle.js';
import type { FakeStore, StoredJob } from './store.js';

/** A limit in whose line jobs wait, and those jobs in order. */
export interface Line {
  readonly queue: string;
  readonly key: string;
  /** What runs, and what may. */
  running: number;
  readonly limit: number | null;
  readonly rate: Rate | null;
  readonly nextSecs: number | null;
  readonly waiting: StoredJob[];
}

/**
 * The lines of all limits as the service would have them now: a job that is due and finds room holds it until it is
 * claimed, another waits in the line of the first limit that has none.
 */
export function linesOf(store: FakeStore): Map<string, Line> {
  const lines = new Map<string, Line & { tokens: number }>();
  const lineOf = (queue: string, key: string): Line & { tokens: number } => {
    const name = JSON.stringify([queue, key]);
    const use: KeyUse = keyUse(store, queue, key);
    const line = lines.get(name) ?? { queue, key, ...use, waiting: [] };
    lines.set(name, line);
    return line;
  };
  const unfinished = [...store.jobs.values()].filter(({ record }) => record.completed_at === null);
  const named = unfinished.filter(({ record }) => (record.config.limits?.length ?? 0) > 0);
  for (const { record } of named) for (const { key } of record.config.limits ?? []) lineOf(record.queue_name, key);
  for (const job of named.filter((each) => isWaiting(each, store.clock.now())).sort(inClaimOrder)) {
    const wanted = (job.record.config.limits ?? []).map(({ key }) => lineOf(job.record.queue_name, key));
    const full = wanted.find(
      ({ running, limit, rate, tokens }) => (limit !== null && running >= limit) || (rate !== null && tokens < 1),
    );
    if (full !== undefined) full.waiting.push(job);
    else for (const line of wanted) [line.running, line.tokens] = [line.running + 1, line.tokens - 1];
  }
  return lines;
}
