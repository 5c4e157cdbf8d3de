import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { isSameRange, rangeText, type BucketRange } from '../../domain/cells.js';
import { isCollision } from '../failures.js';
import { SchemaError } from '../migrations/migrate.js';
import type { Statement } from '../sql.js';
import { rowsOf } from '../connection/one-connection.js';
import { onDatabase, rangeLiteral, readCell, sql, type CellRow } from './cell-row.js';
import { pruneLive, pruneRest } from './prune.js';

/**
 * Hands tenants over to a copy of their database (docs/adr/0046-handing-over.md):
 *
 *   1. the original is closed: nobody writes any more, whatever a process believes
 *   2. the copy, a standby until now, has received that too, and is promoted: it is closed as well
 *   3. the original takes what it keeps, then the copy what it is given; from here on there is no way back
 *   4. each is freed of the live rows of the other part, and opened
 *   5. the remaining rows of the other part are removed while both serve
 *
 * So at no moment do both accept a tenant. Every step is written down in the databases; whoever runs the same handover
 * again goes on where it ended. The copy takes its part only if the original says that this very handover went ahead:
 * a handover that was called off leaves a copy that stays closed.
 */
export interface HandoverOptions {
  readonly sourceUrl: string;
  readonly targetUrl: string;
  /** Null: everything goes. */
  readonly keeps: BucketRange | null;
  readonly gives: BucketRange;
  /** Promote the standby; otherwise wait for somebody to do so. */
  readonly promotes: boolean;
  readonly tell: (line: string) => void | Promise<void>;
}

export class HandoverError extends SchemaError {}

const MAX_LAG_BYTES = 64 * 1024 * 1024;
const LOCK_MS = 2_000;
const LOCK_PATIENCE_MS = 60_000;
const REPLAY_PATIENCE_MS = 120_000;
const PROMOTE_SECS = 60;
const POLL_MS = 100;

export async function handOver(options: HandoverOptions): Promise<void> {
  await onDatabase(options.sourceUrl, (source) =>
    onDatabase(options.targetUrl, (target) => new Handover(source, target, options).run()),
  );
}

/** Serves everything from the original again. Only before a part has been taken. */
export async function abortHandover(sourceUrl: string): Promise<void> {
  await onDatabase(sourceUrl, async (source) => {
    const cell = await cellAt(source, 'the cell');
    if (cell.handover === null || cell.state !== 'closed')
      throw new HandoverError('no handover of this cell is under way');
    await underLocks(source, sql.reopen_cell({ handover: cell.handover }));
  });
}

class Handover {
  readonly #tell: HandoverOptions['tell'];
  #id = '';

  constructor(
    private readonly source: pg.Client,
    private readonly target: pg.Client,
    private readonly options: HandoverOptions,
  ) {
    this.#tell = options.tell;
  }

  async run(): Promise<void> {
    const found = await cellAt(this.source, 'the cell');
    if (!this.#isOurs(found)) await this.#prepare(found);
    this.#id = found.handover !== null && this.#isOurs(found) ? found.handover : randomUUID();
    await this.#close();
    await this.#promoteCopy();
    await this.#takeParts();
    await Promise.all([this.#openWithoutOthers(this.source), this.#openWithoutOthers(this.target)]);
    await this.#tell('both parts are served; removing what belongs to the other');
    await Promise.all([this.#pruneRest(this.source), this.#pruneRest(this.target)]);
    await this.#tell('done');
  }

  /** The same handover was begun before. */
  #isOurs({ handover, keeps, gives, state, range }: CellRow): boolean {
    const { options } = this;
    if (handover === null || !isSame(keeps, options.keeps) || !isSame(gives, options.gives)) return false;
    return state !== 'open' || isSame(range, options.keeps);
  }

  async #prepare(found: CellRow): Promise<void> {
    const { keeps, gives } = this.options;
    const whole = { first: Math.min(gives.first, keeps?.first ?? gives.first), last: gives.last };
    if (found.state !== 'open' || !found.pruned)
      throw new HandoverError('the cell takes part in another handover; end that one first');
    if (isSame(found.range, keeps))
      throw new HandoverError(`no handover of the buckets ${rangeText(gives)} was begun from this cell`);
    if (!isSame(found.range, whole))
      throw new HandoverError(`the cell holds the buckets ${rangeText(found.range)}, and not ${rangeText(whole)}`);
    const copy = await readCell(this.target);
    if (copy?.follows !== true) throw new HandoverError('the target is no standby of the cell; create one first');
    const [log] = await rowsOf<{ written: string; system: string }>(this.source, sql.written_log());
    const [lag] = await rowsOf<{ bytes: string; system: string }>(this.target, sql.copy_lag({ written: log!.written }));
    if (lag!.system !== log!.system) throw new HandoverError('the target is a standby of another PostgreSQL');
    if (Number(lag!.bytes) > MAX_LAG_BYTES)
      throw new HandoverError(
        `the standby is ${Math.round(Number(lag!.bytes) / 1024 / 1024)} MB behind; wait until it has caught up`,
      );
  }

  async #close(): Promise<void> {
    const { keeps, gives } = this.options;
    const { state } = await cellAt(this.source, 'the cell');
    if (state === 'gone') return;
    if (state === 'open' && (await this.#isCommitted())) return;
    const stays = keeps === null ? null : rangeLiteral(keeps);
    await underLocks(this.source, sql.close_cell({ handover: this.#id, keeps: stays, gives: rangeLiteral(gives) }));
    const [ended] = await rowsOf<{ left: number }>(this.source, sql.end_sessions());
    await this.#tell('the cell is closed: its tenants get 503 until their part is served');
    if (ended!.left > 0) await this.#tell(`${ended!.left} connections of other roles could not be ended; restart them`);
  }

  /** The original has taken its part: this can only go forward. */
  async #isCommitted(): Promise<boolean> {
    const { handover, state, range } = await cellAt(this.source, 'the cell');
    return handover === this.#id && (state === 'gone' || isSame(range, this.options.keeps));
  }

  async #promoteCopy(): Promise<void> {
    const giveUpAt = performance.now() + REPLAY_PATIENCE_MS;
    let told = false;
    for (;;) {
      const copy = await cellAt(this.target, 'the target');
      const hasAll = copy.handover === this.#id;
      if (!copy.follows) {
        if (hasAll) return;
        throw new HandoverError(
          'the target was promoted before it had received everything: discard it, call this off with --abort, and ' +
            'begin again with a new standby',
        );
      }
      if (hasAll && this.options.promotes) {
        await rowsOf(this.target, sql.promote({ wait_secs: PROMOTE_SECS }));
        await this.#tell('promoted the standby');
      } else if (hasAll && !told) {
        told = true;
        await this.#tell('the standby has received everything: promote it now');
      }
      if (!hasAll && performance.now() > giveUpAt)
        throw new HandoverError('the standby does not follow; run this again when it does, or with --abort');
      await sleep(POLL_MS);
    }
  }

  async #takeParts(): Promise<void> {
    const { keeps, gives } = this.options;
    const [one, other] = [await cellAt(this.source, 'the cell'), await cellAt(this.target, 'the target')];
    if (one.instance === other.instance) throw new HandoverError('both addresses lead to the same database');
    if (one.follows) throw new HandoverError('the cell is a standby itself');
    const handover = this.#id;
    await rowsOf(this.source, sql.take_part({ handover, part: keeps === null ? null : rangeLiteral(keeps) }));
    if (!(await this.#isCommitted())) throw new HandoverError('the cell has changed meanwhile; look at cells status');
    await rowsOf(this.target, sql.take_part({ handover, part: rangeLiteral(gives) }));
    const taken = await cellAt(this.target, 'the target');
    if (taken.handover !== handover || taken.state === 'gone' || !isSame(taken.range, gives))
      throw new HandoverError('the target does not take part in this handover; discard it');
    await this.#tell('the ranges are set: give every process the new list (SIGHUP)');
  }

  async #openWithoutOthers(client: pg.Client): Promise<void> {
    const { state, pruned, range } = await cellAt(client, 'the cell');
    if (state !== 'closed') return;
    if (!pruned) await pruneLive(client);
    await underLocks(client, sql.open_cell({ handover: this.#id }));
    await this.#tell(`the buckets ${rangeText(range)} are served`);
  }

  async #pruneRest(client: pg.Client): Promise<void> {
    const { pruned, state } = await cellAt(client, 'the cell');
    if (pruned || state !== 'open') return;
    const removed = await pruneRest(client);
    await rowsOf(client, sql.end_pruning({ handover: this.#id }));
    await this.#tell(`removed ${removed} rows of the other part`);
  }
}

async function cellAt(client: pg.Client, what: string): Promise<CellRow> {
  const cell = await readCell(client);
  if (cell === null) throw new HandoverError(`${what} has no schema of the service`);
  return cell;
}

const isSame = (a: BucketRange | null, b: BucketRange | null): boolean =>
  a === null || b === null ? a === b : isSameRange(a, b);

/** Gives way to those who hold the tables, and tries again: whoever waits for a lock makes everybody wait behind it. */
async function underLocks(client: pg.Client, statement: Statement): Promise<void> {
  const giveUpAt = performance.now() + LOCK_PATIENCE_MS;
  for (;;) {
    try {
      await client.query('BEGIN');
      await client.query(`SET LOCAL lock_timeout = ${LOCK_MS}`);
      await rowsOf(client, statement);
      await client.query('COMMIT');
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if (!isCollision(error)) throw error;
      if (performance.now() > giveUpAt)
        throw new HandoverError('another transaction holds a table of the schema; run this again when it has ended', {
          cause: error,
        });
      await sleep(POLL_MS);
    }
  }
}
