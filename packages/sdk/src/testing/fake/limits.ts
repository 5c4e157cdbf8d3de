import type * as Wire from '../../wire/index.js';
import type { FakeStore, StoredJob } from './store.js';

/** Whether every limit that a job names has room. The numbers are those of the newest job that named the key. */
export function hasRoom(store: FakeStore, { record }: StoredJob): boolean {
  return (record.config.limits ?? []).every(({ key }) => {
    const named = namedBy(store, record.queue_name, key);
    const newest = newestOf(named, key);
    const running = named.filter((other) => other.record.status === 'running').length;
    if (running >= (newest?.running ?? Infinity)) return false;
    return !newest?.rate || tokensOf(store, record.queue_name, key, newest.rate) >= 1;
  });
}

/** A job that starts takes one of what each rate lets through. */
export function takeTokens(store: FakeStore, { record }: StoredJob): void {
  for (const { key } of record.config.limits ?? []) {
    const rate = newestOf(namedBy(store, record.queue_name, key), key)?.rate;
    if (!rate) continue;
    const tokens = tokensOf(store, record.queue_name, key, rate) - 1;
    store.tokens.set(placeOf(record.queue_name, key), { tokens, at: store.clock.now() });
  }
}

const namedBy = (store: FakeStore, queue: string, key: string): StoredJob[] =>
  [...store.jobs.values()].filter(
    ({ record }) => record.queue_name === queue && record.config.limits?.some((limit) => limit.key === key),
  );

const newestOf = (named: readonly StoredJob[], key: string): Wire.LimitInput | undefined =>
  named.at(-1)?.record.config.limits?.find((limit) => limit.key === key);

/** They come back evenly, up to the burst. */
function tokensOf(store: FakeStore, queue: string, key: string, { count, per_secs, burst }: Wire.RateInput): number {
  const most = burst ?? 1;
  const { tokens, at } = store.tokens.get(placeOf(queue, key)) ?? { tokens: most, at: store.clock.now() };
  const back = ((store.clock.now() - at) / 1_000) * (count / per_secs);
  // Thousandths of a token are errors of rounding.
  return Math.min(most, Math.round((tokens + back) * 1_000) / 1_000);
}

const placeOf = (queue: string, key: string): string => JSON.stringify([queue, key]);
