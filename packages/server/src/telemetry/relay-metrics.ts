import { Counter, Gauge, type Registry } from 'prom-client';

/** What a relay tells of its outbox. */
export interface OutboxGauge {
  readonly waiting: number;
  readonly oldest_secs: number | null;
  readonly refused: number;
}

export interface RelayState {
  /** Asked at every scrape. */
  gauge(): Promise<OutboxGauge>;
  isUp(): boolean;
}

/** A scrape goes on without the gauges if the application's database takes longer. */
const READ_MS = 3_000;

/** The metrics of a relay: on a page of its own, or among those of the service that it runs in. */
export class RelayMetrics {
  readonly relayed: Counter;
  readonly refusals: Counter;

  constructor(registry: Registry, relay: RelayState) {
    const registers = [registry];
    this.relayed = new Counter({
      name: 'millrace_outbox_relayed_total',
      help: 'Entries of the outbox that were delivered to the service.',
      registers,
    });
    this.refusals = new Counter({
      name: 'millrace_outbox_refused_total',
      help: 'Entries of the outbox that the service refused.',
      registers,
    });
    const up: Gauge = new Gauge({
      name: 'millrace_outbox_relay_up',
      help: '1 while the relay of this process works; 0 while it waits for the service or the database, or has stopped.',
      aggregator: 'max',
      registers,
      collect: () => up.set(relay.isUp() ? 1 : 0),
    });
    const read = sharedRead(() => relay.gauge());
    const gauge = (name: string, help: string, valueOf: (found: OutboxGauge) => number): void => {
      const shown: Gauge = new Gauge({
        name: `millrace_outbox_${name}`,
        help,
        // What is true of the whole outbox is no sum over processes.
        aggregator: 'max',
        registers,
        collect: async (): Promise<void> => {
          const found = await read();
          if (found === null) shown.remove();
          else shown.set(valueOf(found));
        },
      });
    };
    gauge(
      'oldest_age_seconds',
      'Age of the oldest entry that waits; 0 if none does.',
      (found) => found.oldest_secs ?? 0,
    );
    gauge('refused', 'Entries that were refused and are set aside, counted to 100,000.', (found) => found.refused);
    gauge('waiting', 'Entries that wait in the outbox, counted to 100,000.', (found) => found.waiting);
  }
}

/**
 * The same answer for all gauges of a scrape. Each has to wait for it: the page is put together from what each holds
 * when it is asked, and without waiting that would be what the last scrape found.
 */
function sharedRead<T>(ask: () => Promise<T>): () => Promise<T | null> {
  let reading: Promise<T | null> | null = null;
  return () => (reading ??= within(READ_MS, ask()).finally(() => (reading = null)));
}

/** Null: it failed, or took longer. */
async function within<T>(ms: number, answer: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => (timer = setTimeout(() => resolve(null), ms)));
  return Promise.race([answer.catch(() => null), late]).finally(() => clearTimeout(timer));
}
