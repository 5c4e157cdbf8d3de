import type { WorkNews } from '../engine/leases/long-poll.js';

/** The news of work of several databases as one. Which ones may change: whoever listens hears the new ones too. */
type Subscribe = (hub: WorkNews) => () => void;

export class CellsNews implements WorkNews {
  #hubs: readonly WorkNews[] = [];
  readonly #ends = new Map<Subscribe, Map<WorkNews, () => void>>();
  readonly #forAny: Parameters<WorkNews['onAnyWork']>[0][] = [];

  constructor(hubs: readonly WorkNews[]) {
    this.use(hubs);
  }

  use(hubs: readonly WorkNews[]): void {
    const fresh = hubs.filter((hub) => !this.#hubs.includes(hub));
    const gone = this.#hubs.filter((hub) => !hubs.includes(hub));
    this.#hubs = hubs;
    for (const [subscribe, ends] of this.#ends) {
      for (const hub of fresh) ends.set(hub, subscribe(hub));
      for (const hub of gone) {
        ends.get(hub)?.();
        ends.delete(hub);
      }
    }
    for (const hub of fresh) for (const listener of this.#forAny) hub.onAnyWork(listener);
  }

  readonly onWork: WorkNews['onWork'] = (queue, listener) => {
    const subscribe: Subscribe = (hub) => hub.onWork(queue, listener);
    const ends = new Map(this.#hubs.map((hub) => [hub, subscribe(hub)]));
    this.#ends.set(subscribe, ends);
    return () => {
      this.#ends.delete(subscribe);
      ends.forEach((end) => end());
    };
  };

  readonly onAnyWork: WorkNews['onAnyWork'] = (listener) => {
    this.#forAny.push(listener);
    for (const hub of this.#hubs) hub.onAnyWork(listener);
  };
}
