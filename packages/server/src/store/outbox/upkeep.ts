import { OLDEST_OUTBOX } from './installation.js';
import { OutboxDatabase } from './outbox-database.js';
import { OutboxError, outboxErrorAtStart } from './outbox-error.js';

/** What operators ask of an outbox: how it is, to try again, to tidy up. Everything goes in bounded steps. */

/** Numbers are counted to this; more is said to be more. */
export const COUNTED = 100_000;
const STEP = 1_000;
const SHOWN = 20;

export interface RefusedEntry {
  readonly id: string;
  /** Null: a workflow. */
  readonly task: string | null;
  readonly refused_at: string;
  readonly code: string;
  readonly error: string;
}

export interface OutboxStatus {
  readonly version: number;
  /** At most COUNTED. */
  readonly waiting: number;
  readonly oldest_secs: number | null;
  readonly refused: number;
  readonly relays: readonly { readonly id: string; readonly seen_secs: number }[];
  /** The latest. */
  readonly refusals: readonly RefusedEntry[];
}

export type Gauge = Pick<OutboxStatus, 'waiting' | 'oldest_secs' | 'refused'>;

export async function outboxGauge(db: OutboxDatabase): Promise<Gauge> {
  const [row] = await db.run<Gauge>('gauge', { most: COUNTED });
  return row!;
}

export const outboxStatus = (url: string): Promise<OutboxStatus> =>
  withOutbox(url, async (db) => {
    const version = await checkVersion(db);
    const gauge = await outboxGauge(db);
    const relays = await db.run<OutboxStatus['relays'][number]>('relays');
    const refusals = await db.run<RefusedEntry>('refusals', { most: SHOWN });
    return { version, ...gauge, relays, refusals };
  });

/** Puts refused entries back, to be sent again under the same keys; `ids` null: all. Returns how many. */
export const retryRefused = (url: string, ids: readonly string[] | null): Promise<number> =>
  withOutbox(url, (db) => stepwise((most) => db.run('retry', { ids, most })));

export interface Pruned {
  readonly refused: number;
  readonly handled: number;
}

/** Removes what was refused, and what is remembered as handled, longer ago than that. Null: leaves it. */
export const pruneOutbox = (url: string, refusedSecs: number | null, handledSecs: number | null): Promise<Pruned> =>
  withOutbox(url, async (db) => ({
    refused:
      refusedSecs === null ? 0 : await stepwise((most) => db.run('prune_refused', { older_secs: refusedSecs, most })),
    handled: handledSecs === null ? 0 : await pruneHandled(db, handledSecs),
  }));

export interface ForgottenStep {
  readonly n: number;
  /** Where the next step begins; null: nothing is left. */
  readonly next: string | null;
}

/** One bounded step of forgetting what was handled longer ago than that, from where the last one ended. */
export async function forgetHandled(
  db: OutboxDatabase,
  olderSecs: number,
  from: string | null,
): Promise<ForgottenStep> {
  const values = { older_secs: olderSecs, from, most: STEP };
  const [{ n, last } = { n: 0, last: null }] = await db.run<{ n: number; last: string | null }>(
    'prune_handled',
    values,
  );
  return { n, next: n < STEP ? null : last };
}

async function pruneHandled(db: OutboxDatabase, olderSecs: number): Promise<number> {
  let total = 0;
  let from: string | null = null;
  do {
    const { n, next }: ForgottenStep = await forgetHandled(db, olderSecs, from);
    total += n;
    from = next;
  } while (from !== null);
  return total;
}

/** The version that is installed, if this program can work with it. */
export async function checkVersion(db: OutboxDatabase): Promise<number> {
  const [row] = await db.run<{ version: number | null }>('version');
  const version = row?.version ?? 0;
  if (version >= OLDEST_OUTBOX) return version;
  throw new OutboxError(
    `the outbox is at version ${version}, this program needs ${OLDEST_OUTBOX}: millrace outbox install upgrades it`,
    true,
  );
}

async function stepwise(step: (most: number) => Promise<object[]>): Promise<number> {
  for (let total = 0; ;) {
    const [{ n } = { n: 0 }] = (await step(STEP)) as { n: number }[];
    total += n;
    if (n < STEP) return total;
  }
}

async function withOutbox<T>(url: string, work: (db: OutboxDatabase) => Promise<T>): Promise<T> {
  const db = new OutboxDatabase(url, 1);
  try {
    return await work(db);
  } catch (error) {
    throw error instanceof OutboxError && !error.lasting ? outboxErrorAtStart(error.cause) : error;
  } finally {
    await db.end();
  }
}
