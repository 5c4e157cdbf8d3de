import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { AnswerCache } from '../../../src/engine/shared/answer-cache.js';

/** Answers from here on are long counts, which may be given again for a second. */
const MANY = 100;
const FRESH_MS = 1000;

/** Searches that end when the test says so, in the order in which they began. Time stands still unless it is moved. */
function useSearches() {
  let ms = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => ms);
  onTestFinished(() => clock.mockRestore());
  const kept = new AnswerCache<number>((n) => (n >= MANY ? FRESH_MS : 0));
  const begun: PromiseWithResolvers[] = [];
  const find = (): Promise<number> => {
    const search = withResolvers();
    begun.push(search);
    return search.promise;
  };
  return { begun, ask: () => kept.ask('how many', find), pass: (by: number) => (ms += by) };
}

interface PromiseWithResolvers {
  readonly promise: Promise<number>;
  readonly resolve: (n: number) => void;
  readonly reject: (error: Error) => void;
}

function withResolvers(): PromiseWithResolvers {
  let [resolve, reject]: [(n: number) => void, (error: Error) => void] = [() => undefined, () => undefined];
  const promise = new Promise<number>((succeed, fail) => ([resolve, reject] = [succeed, fail]));
  return { promise, resolve, reject };
}

describe('an answer that is being found', () => {
  it('goes to everybody who asks meanwhile if it may be given again', async () => {
    const { begun, ask } = useSearches();
    const asked = [ask(), ask(), ask()];
    expect(begun).toHaveLength(1);
    begun[0]!.resolve(MANY);
    expect(await Promise.all(asked)).toEqual([
      { answer: MANY, isKept: false },
      { answer: MANY, isKept: true },
      { answer: MANY, isKept: true },
    ]);
    expect(begun).toHaveLength(1);
  });

  it('goes to nobody else if it may not: those who asked meanwhile share one that began after they had', async () => {
    const { begun, ask } = useSearches();
    const [first, ...others] = [ask(), ask(), ask()];
    begun[0]!.resolve(1);
    expect(await first).toEqual({ answer: 1, isKept: false });
    await expect.poll(() => begun.length).toBeGreaterThan(1);
    const late = ask();
    begun[1]!.resolve(2);
    expect(await Promise.all(others)).toEqual(Array(2).fill({ answer: 2, isKept: false }));
    await expect.poll(() => begun.length).toBeGreaterThan(2);
    begun[2]!.resolve(3);
    expect(await late).toEqual({ answer: 3, isKept: false });
    expect(begun).toHaveLength(3);
  });

  it('is waited for by those who come when the one before it has expired', async () => {
    const { begun, ask, pass } = useSearches();
    const first = ask();
    begun[0]!.resolve(MANY);
    await first;
    pass(1.5 * FRESH_MS);
    expect(await ask()).toEqual({ answer: MANY, isKept: true });
    pass(FRESH_MS);
    const asked = [ask(), ask()];
    begun[1]!.resolve(MANY + 1);
    expect(await Promise.all(asked)).toEqual(Array(2).fill({ answer: MANY + 1, isKept: true }));
    expect(begun).toHaveLength(2);
  });

  it('and is not found fails for all who wait, and is looked for again by the next', async () => {
    const { begun, ask } = useSearches();
    const asked = Promise.allSettled([ask(), ask()]);
    begun[0]!.reject(new Error('the database is away'));
    expect((await asked).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const next = ask();
    begun[1]!.resolve(MANY);
    expect(await next).toEqual({ answer: MANY, isKept: false });
  });
});
