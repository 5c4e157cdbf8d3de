import { MillraceError } from '../../domain/errors.js';
import { uuidArray } from '../../store/arrays.js';
import type { Database, Execute } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';

/**
 * Requests that take effect once, however often they are sent. The key is taken and the effect happens in one
 * transaction: of any number of repeats, in any processes, one acts, and the others wait for it and answer as it did. A
 * crash leaves neither the key nor the effect. Single jobs have a shorter way (jobs/enqueue.ts): there the key and the
 * job are one statement, and many share it.
 */
const sql = loadStatements('shared/idempotency.sql');

/** How long a key is remembered where nothing is ever removed. */
const DEFAULT_LIFE_HOURS = 7 * 24;
const SECONDS_PER_HOUR = 3_600;

const FORGET_BATCH = 1_000;
/** What one sweep removes at most; the next one comes a minute later. */
const FORGET_ROUNDS = 100;

/** A key of a tenant, and what it is used for: the request, and the resource in its path if it names one. */
export interface KeyUse {
  readonly tenant: string;
  readonly key: string;
  readonly kind: string;
  /** What the request asks for; absent where its path says all of it. */
  readonly digest?: number;
}

export interface Effect {
  /** What was created: all that a repeat needs to know. */
  readonly ids: readonly string[];
  /** To be called once the effect is durable. */
  readonly committed: () => void;
}

export interface Done {
  readonly ids: readonly string[];
  /** True: an earlier request with the same key did it. */
  readonly replayed: boolean;
  /** That one asked for something else. */
  readonly mismatch: boolean;
}

/** Whether a repeat asks for something else than what its key was used for; of keys from before nobody knows. */
export const differs = (stored: string | null, asked: number | undefined): boolean =>
  stored !== null && asked !== undefined && stored !== String(asked);

export const otherKind = (): MillraceError =>
  new MillraceError('conflict', 'this idempotency key has been used for another request');

interface KnownRow {
  readonly kind: string | null;
  readonly ids: string[] | null;
  readonly digest: string | null;
}

interface Taken {
  readonly ids: readonly string[];
  /** Null if somebody else did it. */
  readonly committed: (() => void) | null;
  readonly mismatch?: boolean;
}

export class Idempotency {
  /** How long a key is remembered, unless it goes with its job. */
  readonly lifeSecs: number;

  /** `retentionHours`: null if nothing is ever removed. */
  constructor(
    private readonly db: Database,
    retentionHours: number | null,
  ) {
    this.lifeSecs = (retentionHours ?? DEFAULT_LIFE_HOURS) * SECONDS_PER_HOUR;
  }

  /**
   * The effect runs with the means to run statements, and must have no effect but through them: with a key they are one
   * transaction, which may be repeated; without one (null), each is its own, unless they are to be `together`.
   */
  async once(
    use: KeyUse | null,
    effect: (execute: Execute) => Promise<Effect>,
    { together = false }: { readonly together?: boolean } = {},
  ): Promise<Done> {
    if (use === null) {
      const { ids, committed } = await (together ? this.db.transaction(effect) : effect(this.db.run));
      committed();
      return { ids, replayed: false, mismatch: false };
    }
    for (;;) {
      const done = await this.db.transaction((execute) => this.#take(execute, use, effect));
      if (done === null) continue;
      done.committed?.();
      return { ids: done.ids, replayed: done.committed === null, mismatch: done.mismatch ?? false };
    }
  }

  /** Removes keys that have expired. */
  async forget(): Promise<void> {
    for (let round = 0; round < FORGET_ROUNDS; round++) {
      const [row] = await this.db.run<{ removed: number }>(sql.forget_keys({ max_keys: FORGET_BATCH }));
      if ((row?.removed ?? 0) < FORGET_BATCH) return;
    }
  }

  /** Null: the key was taken, and is gone again. */
  async #take(
    execute: Execute,
    { tenant, key, kind, digest }: KeyUse,
    effect: (execute: Execute) => Promise<Effect>,
  ): Promise<Taken | null> {
    const [taken] = await execute(
      sql.take_key({
        tenant,
        key,
        kind,
        life_secs: this.lifeSecs,
        digest: digest === undefined ? null : String(digest),
      }),
    );
    if (!taken) {
      const [known] = await execute<KnownRow>(sql.answer_of_key({ tenant, key }));
      if (!known) return null;
      if (known.kind !== kind) throw otherKind();
      return { ids: known.ids ?? [], committed: null, mismatch: differs(known.digest, digest) };
    }
    const done = await effect(execute);
    await execute(sql.keep_answer({ tenant, key, ids: uuidArray(done.ids) }));
    return done;
  }
}
