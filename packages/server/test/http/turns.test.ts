import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { atOnce, type Steps } from '../../src/domain/steps.js';
import { LoopTurns } from '../../src/http/turns.js';

const done: string[] = [];
function* work(name: string, steps: number): Steps<string> {
  for (let n = 1; n < steps; n++) {
    done.push(`${name}${n}`);
    yield;
  }
  done.push(`${name}${steps}`);
  return name;
}

it('does one step per turn of the event loop, and lets those at work take turns', async () => {
  const turns = new LoopTurns();
  const results = [turns.run(work('a', 3)), turns.run(work('b', 1)), turns.run(work('c', 2))];
  expect(done).toEqual([]);
  const order = ['a1', 'b1', 'c1', 'a2', 'c2', 'a3'];
  for (const [n, expected] of order.entries()) {
    await nextTurn();
    expect([done.length, done.at(-1)]).toEqual([n + 1, expected]);
  }
  expect(await Promise.all(results)).toEqual(['a', 'b', 'c']);
  expect(await turns.run(work('later', 1))).toBe('later');
});

it('goes on with the others where one fails', async () => {
  const turns = new LoopTurns();
  // eslint-disable-next-line require-yield -- it fails before it could
  const failing = turns.run(
    (function* (): Steps<never> {
      throw new Error('no');
    })(),
  );
  const other = turns.run(work('other', 2));
  await expect(failing).rejects.toThrow('no');
  expect(await other).toBe('other');
});

it('does what concerns a short text at once, and what concerns a long one in turns', async () => {
  const turns = new LoopTurns();
  expect(turns.over('short', work('s', 3))).toBe('s');
  const long = turns.over('x'.repeat(256 * 1024), work('l', 2));
  expect(done.at(-1)).toBe('s3');
  expect(await long).toBe('l');
  expect(atOnce(work('whole', 5))).toBe('whole');
});
