import { intervalSecs, type Rate } from '../../rules/index.js';
import type * as Wire from '../../wire/index.js';
import type { FakeStore, StoredJob } from './store.js';

/** How much of a key is in use. */
export interface KeyUse {
  running: number;
  readonly limit: number | null;
  readonly rate: Rate | null;
  /** What is left in its bucket; any number without a rate. */
  tokens: number;
  /** Seconds until there is one; null without a rate. */
  readonly nextSecs: number | null;
}

/** The numbers are those of the newest job that named the key. */
export function keyUse(store: FakeStore, queue: string, key: string): KeyUse {
  const named = namedBy(store, queue, key);
  const newest = newestOf(named, key);
  const running = named.filter(({ record }) => record.status === 'running').length;
  const limit = newest?.running ?? null;
  if (!newest?.rate) return { running, limit, rate: null, tokens: Infinity, nextSecs: null };
  const rate = rateOf(newest.rate);
  const tokens = tokensOf(store, queue, key, rate);
  return { running, limit, rate, tokens, nextSecs: Math.max(0, 1 - tokens) * intervalSecs(rate) };
}

/** Whether every limit that a job names has room. */
export function hasRoom(store: FakeStore, { record }: StoredJob): boolean {
  return (record.config.limits ?? []).every(({ key }) => {
    const { running, limit, tokens } = keyUse(store, record.queue_name, key);
    return (limit === null || running < limit) && tokens >= 1;
  });
}

/** A job that starts takes one of what each rate lets through. */
export function takeTokens(store: FakeStore, { record }: StoredJob): void {
  for (const { key } of record.config.limits ?? []) {
    const { rate, tokens } = keyUse(store, record.queue_name, key);
    if (rate === null) continue;
    store.tokens.set(placeOf(record.queue_name, key), { tokens: tokens - 1, at: store.clock.now() });
  }
}

const namedBy = (store: FakeStore, queue: string, key: string): StoredJob[] =>
  [...store.jobs.values()].filter(
    ({ record }) => record.queue_name === queue && record.config.limits?.some((limit) => limit.key === key),
  );

const newestOf = (named: readonly StoredJob[], key: string): Wire.LimitInput | undefined =>
  named.at(-1)?.record.config.limits?.find((limit) => limit.key === key);

const rateOf = ({ count, per_secs: perSecs, burst }: Wire.RateInput): Rate => ({ count, perSecs, burst: burst ?? 1 });

/** They come back evenly, up to the burst. */
function tokensOf(store: FakeStore, queue: string, key: string, { count, perSecs, burst }: Rate): number {
  const { tokens, at } = store.tokens.get(placeOf(queue, key)) ?? { tokens: burst, at: store.clock.now() };
  const back = ((store.clock.now() - at) / 1_000) * (count / perSecs);
  // Thousandths of a token are errors of rounding.
  return Math.min(burst, Math.round((tokens + back) * 1_000) / 1_000);
}

const placeOf = (queue: string, key: string): string => JSON.stringify([queue, key]);
