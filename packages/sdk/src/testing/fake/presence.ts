import type * as Wire from '../../wire/index.js';
import type { Asker, FakeStore } from './store.js';

/** Who asks for jobs of a queue, and what they say of themselves. */

/** Whoever has not asked for this long counts as gone. */
const OFFER_MS = 60_000;

/** A worker that gives no name could not be told from the next one: it counts as one that says nothing. */
export function noteAsk(store: FakeStore, queue: string, { worker_id, slots, tasks }: Wire.LeaseRequest): void {
  const says = (worker_id ?? null) !== null && ((slots ?? null) !== null || (tasks ?? null) !== null);
  const worker = says ? worker_id! : '';
  const asker: Asker = {
    ...{ worker, at: store.clock.now() },
    ...{ slots: (says && slots) || null, tasks: (says && tasks) || null },
  };
  const known = store.asked.get(queue) ?? new Map<string, Asker>();
  store.asked.set(queue, known.set(worker, asker));
}

/** Those that asked lately. */
export const askersOf = (store: FakeStore, queue: string): Asker[] =>
  [...(store.asked.get(queue)?.values() ?? [])].filter(({ at }) => store.clock.now() - at <= OFFER_MS);

export function lastAsk(store: FakeStore, queue: string): string | null {
  const all = [...(store.asked.get(queue)?.values() ?? [])];
  return all.length === 0 ? null : store.clock.text(Math.max(...all.map(({ at }) => at)));
}
