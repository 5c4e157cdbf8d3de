import { DEADLINE_MS } from '@millrace/tools-shared';
import { describe, expect, it } from 'vitest';
import { ReadPace, type ReadKind } from '../../../src/store/turns/read-pace.js';
import { ReadTurns, type EndTurn } from '../../../src/store/turns/read-turns.js';

/** Notes who begins, in order, and lets the test end each turn. */
class Readers {
  readonly begun: string[] = [];
  readonly refused: string[] = [];
  readonly #ends = new Map<string, EndTurn>();

  constructor(readonly turns: ReadTurns) {}

  async ask(tenant: string, name: string, kind: ReadKind = 'page'): Promise<void> {
    void this.turns.take(tenant, kind).then(
      (end) => {
        this.begun.push(name);
        this.#ends.set(name, end);
      },
      (error: Error) => this.refused.push(error.message),
    );
    await new Promise(setImmediate);
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    await new Promise(setImmediate);
  }
}

/** Nobody gives up, however long a turn of the event loop takes. */
const readers = (slots: number): Readers => new Readers(new ReadTurns({ slots, waitMs: DEADLINE_MS }));

describe('turns of reads', () => {
  it('leave to others what one tenant may not have', async () => {
    const all = readers(4);
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) await all.ask('a', name);
    expect(all.begun).toEqual(['a1', 'a2']);
    await all.ask('b', 'b1');
    await all.ask('c', 'c1');
    expect(all.begun).toEqual(['a1', 'a2', 'b1', 'c1']);
    await all.end('a1');
    expect(all.begun.slice(4)).toEqual(['a3']);
  });

  it('go around, however many one tenant asks for', async () => {
    const all = readers(1);
    for (const name of ['a1', 'a2', 'a3', 'a4']) await all.ask('a', name);
    await all.ask('b', 'b1');
    await all.ask('c', 'c1');
    for (const name of ['a1', 'a2', 'b1', 'c1']) await all.end(name);
    expect(all.begun).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('leave a connection to pages while everybody counts', async () => {
    const all = readers(3);
    for (const tenant of ['a', 'b', 'c', 'd']) await all.ask(tenant, `${tenant}-count`, 'count');
    expect(all.begun).toEqual(['a-count', 'b-count']);
    await all.ask('d', 'd-page');
    expect(all.begun.slice(2)).toEqual(['d-page']);
  });

  it('let a tenant count once at a time, and read pages beside it', async () => {
    const all = readers(4);
    await all.ask('a', 'a-count', 'count');
    await all.ask('a', 'a-again', 'count');
    await all.ask('a', 'a-page');
    expect(all.begun).toEqual(['a-count', 'a-page']);
    await all.end('a-count');
    expect(all.begun.slice(2)).toEqual(['a-again']);
  });

  it('are refused where too many wait, each tenant for itself', async () => {
    const all = readers(1);
    for (let n = 0; n < 102; n++) await all.ask('a', `a${n}`);
    expect(all.refused).toEqual(['the service is busy: too many reads of this tenant are waiting; try again shortly']);
    await all.ask('b', 'b1');
    expect(all.refused).toHaveLength(1);
    expect(all.turns.waiting).toBe(101);
  });

  it('are refused after a while, and whoever gave up takes no turn', async () => {
    const turns = new ReadTurns({ slots: 1, waitMs: 5 });
    const end = await turns.take('a', 'page');
    await expect(turns.take('b', 'page')).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('busy') as unknown,
    });
    expect(turns.waiting).toBe(0);
    end();
    (await turns.take('c', 'page'))();
  });

  it('wait while their tenant rests, others do not, and the end of the rest starts them', async () => {
    let ms = 0;
    const pace = new ReadPace(() => ms);
    const turns = new ReadTurns({ slots: 2, pace, waitMs: DEADLINE_MS });
    pace.pageTook('a', 1_010, 1024 * 1024);
    const later = turns.take('a', 'page');
    expect(turns.waiting).toBe(1);
    (await turns.take('b', 'page'))();
    (await turns.take('a', 'count'))();
    expect(turns.waiting).toBe(1);
    // The clock of the pace, not the timer's, says when it is over.
    ms += 60_000;
    (await later)();
    expect(turns.waiting).toBe(0);
  });
});
