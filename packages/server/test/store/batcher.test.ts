import { describe, expect, it } from 'vitest';
import { invalidRequest, unavailable } from '../../src/domain/errors.js';
import { Batcher, type BatcherOptions } from '../../src/store/batcher.js';

const OPTIONS = { maxItems: 10, inFlight: 2, maxWaiting: 100 };
const MEBIBYTE = 1024 * 1024;

/** Flushes that end when the test says so. */
class Flushes {
  readonly begun: (readonly number[])[] = [];
  readonly #ends: (() => void)[] = [];
  open = 0;
  most = 0;

  /** `judge` throws for what the database would refuse. */
  constructor(private readonly judge: (items: readonly number[]) => void = () => undefined) {}

  flush = async (items: readonly number[]): Promise<readonly number[]> => {
    this.begun.push(items);
    this.most = Math.max(this.most, ++this.open);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    this.open--;
    this.judge(items);
    return items.map((item) => item * 10);
  };

  /** Lets flushes end, one after the other, until all the answers are there. */
  async until<T>(answers: Promise<T>): Promise<T> {
    let done = false;
    const ended = answers.finally(() => (done = true));
    ended.catch(() => undefined);
    while (!done) {
      this.#ends.shift()?.();
      await new Promise(setImmediate);
    }
    return ended;
  }
}

const batcher = (flushes: Flushes, options: Partial<BatcherOptions<number>> = {}): Batcher<number, number> =>
  new Batcher(flushes.flush, { ...OPTIONS, ...options });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe('a batcher', () => {
  it('takes what arrives in one turn together, and gives each its own answer', async () => {
    const flushes = new Flushes();
    const batch = batcher(flushes);
    expect(await flushes.until(Promise.all(numbers(7).map((n) => batch.submit(n))))).toEqual([
      0, 10, 20, 30, 40, 50, 60,
    ]);
    expect(flushes.begun).toEqual([numbers(7)]);
  });

  it('gathers what arrives while statements are in flight, in order, and has no more of them than allowed', async () => {
    const flushes = new Flushes();
    const batch = batcher(flushes);
    const answers = await flushes.until(Promise.all(numbers(57).map((n) => batch.submit(n))));
    expect(answers).toEqual(numbers(57).map((n) => n * 10));
    expect(flushes.begun.flat()).toEqual(numbers(57));
    expect(flushes.begun.map((items) => items.length)).toEqual([10, 10, 10, 10, 10, 7]);
    expect(flushes.most).toBe(2);
  });

  it('lets one bad item fail alone, and answers each of the others once', async () => {
    const bad = new Set([3, 8]);
    const flushes = new Flushes((items) => {
      if (items.some((item) => bad.has(item))) throw new Error('refused');
    });
    const batch = batcher(flushes);
    const answers = await flushes.until(Promise.allSettled(numbers(10).map((n) => batch.submit(n))));
    expect(answers.map(({ status }) => status)).toEqual(
      numbers(10).map((n) => (bad.has(n) ? 'rejected' : 'fulfilled')),
    );
    const stored = flushes.begun.filter((items) => !items.some((item) => bad.has(item))).flat();
    expect(stored.sort()).toEqual(numbers(10).filter((n) => !bad.has(n)));
  });

  it.each([
    ['the database is away', unavailable('away')],
    ['the connection broke', Object.assign(new Error('reset'), { code: 'ECONNRESET' })],
  ])('tells everybody when %s, and does not try each by itself', async (_what, error) => {
    const flushes = new Flushes(() => {
      throw error;
    });
    const batch = batcher(flushes);
    const answers = await flushes.until(Promise.allSettled(numbers(5).map((n) => batch.submit(n))));
    expect(answers).toEqual(numbers(5).map(() => ({ status: 'rejected', reason: error })));
    expect(flushes.begun).toHaveLength(1);
  });

  it('takes a list as its items by themselves, with refusals in their places', async () => {
    const refused = invalidRequest('thirteen');
    const flushes = new Flushes((items) => {
      if (items.includes(13)) throw refused;
    });
    const batch = batcher(flushes, { maxItems: 5 });
    const [answers, single] = await flushes.until(Promise.all([batch.submitAll(numbers(17)), batch.submit(100)]));
    expect(answers).toEqual(numbers(17).map((n) => (n >= 10 && n < 15 ? refused : n * 10)));
    expect([single, await batch.submitAll([])]).toEqual([1000, []]);
  });

  it('fails a list as a whole if the database fails, and refuses it if too much waits', async () => {
    const broken = new Error('broken');
    const flushes = new Flushes((items) => {
      if (items.includes(3)) throw broken;
    });
    await expect(flushes.until(batcher(flushes).submitAll(numbers(5)))).rejects.toBe(broken);
    const full = batcher(flushes, { maxWaiting: 1 });
    const waiting = full.submit(0);
    await expect(full.submitAll([1, 2])).rejects.toMatchObject({ code: 'unavailable' });
    expect(await flushes.until(waiting)).toBe(0);
  });

  it('refuses what it could only let wait for ever, and recovers', async () => {
    const flushes = new Flushes();
    const batch = batcher(flushes, { maxWaiting: 3 });
    const first = numbers(3).map((n) => batch.submit(n));
    await expect(batch.submit(4)).rejects.toMatchObject({ code: 'unavailable' });
    await flushes.until(Promise.all(first));
    expect(await flushes.until(batch.submit(5))).toBe(50);
  });

  it('puts no more into one statement than the database can take, and an item that is larger alone', async () => {
    const flushes = new Flushes();
    const batch = batcher(flushes, { inFlight: 1, weigh: (mebibytes) => mebibytes * MEBIBYTE });
    const items = [10, 10, 10, 10, 200, 1, 16, 16, 1];
    await flushes.until(Promise.all(items.map((n) => batch.submit(n))));
    expect(flushes.begun).toEqual([[10, 10, 10], [10], [200], [1, 16], [16, 1]]);
  });
});
