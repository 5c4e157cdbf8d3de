import { DEADLINE_MS } from '@millrace/tools-shared';
import { describe, expect, it } from 'vitest';
import { Coalescer } from '../../../src/store/turns/coalescer.js';

/** Answers that are given when the test says so: the n-th is n. */
class Answers {
  given = 0;
  readonly #open: { resolve: (n: number) => void; reject: (error: Error) => void }[] = [];

  readonly answer = (): Promise<number> =>
    new Promise((resolve, reject) => {
      this.given++;
      this.#open.push({ resolve, reject });
    });

  async settle(failure?: Error): Promise<void> {
    const first = this.#open.shift();
    if (failure) first?.reject(failure);
    else first?.resolve(this.given);
    for (let n = 0; n < 5; n++) await new Promise(setImmediate);
  }
}

/** Nobody gives up, however long a turn of the event loop takes. */
const patient = (restMs: () => number = () => 0): Coalescer => new Coalescer(restMs, DEADLINE_MS);

describe('questions asked by many', () => {
  it('run one at a time, and who comes meanwhile shares the next answer', async () => {
    const answers = new Answers();
    const coalescer = patient();
    const first = coalescer.ask('q', answers.answer);
    const others = Array.from({ length: 50 }, () => coalescer.ask('q', answers.answer));
    expect(answers.given).toBe(1);
    await answers.settle();
    expect(answers.given).toBe(2);
    // The one under way may not know what happened since it began.
    const late = coalescer.ask('q', answers.answer);
    await answers.settle();
    await answers.settle();
    expect(await first).toBe(1);
    expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
    expect(await late).toBe(3);
    expect(answers.given).toBe(3);
  });

  it('do not wait for other questions', async () => {
    const answers = new Answers();
    const coalescer = patient();
    void coalescer.ask('one', answers.answer);
    void coalescer.ask('two', answers.answer);
    expect(answers.given).toBe(2);
  });

  it('fail alone: the next answer is asked for all the same', async () => {
    const answers = new Answers();
    const coalescer = patient();
    const first = coalescer.ask('q', answers.answer);
    const second = coalescer.ask('q', answers.answer);
    const failed = expect(first).rejects.toThrow('lost');
    await answers.settle(new Error('lost'));
    await failed;
    await answers.settle();
    expect(await second).toBe(2);
    void coalescer.ask('q', answers.answer);
    expect(answers.given).toBe(3);
  });

  it('are given up after a while', async () => {
    const answers = new Answers();
    const coalescer = new Coalescer(() => 0, 5);
    void coalescer.ask('q', answers.answer);
    await expect(coalescer.ask('q', answers.answer)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('busy') as unknown,
    });
  });

  it('lets a question rest, and whoever asks it meanwhile shares the answer', async () => {
    const rests = [0, 20, 20];
    const coalescer = patient(() => rests.shift()!);
    const asked: number[] = [];
    const ask = (): Promise<number> => coalescer.ask('how many', async () => asked.push(performance.now()));
    await ask();
    const answers = await Promise.all([ask(), ask(), ask(), ask()]);
    expect(answers).toEqual([2, 3, 3, 3]);
    // Timers may fire a little early by this clock.
    expect(asked[1]! - asked[0]!).toBeGreaterThan(15);
    expect(asked[2]! - asked[1]!).toBeGreaterThan(15);
  });
});
