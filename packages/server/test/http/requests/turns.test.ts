import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '../../../src/http/requests/turns.js';

it('does one piece of work per turn of the event loop, in order', async () => {
  const turns = new Turns();
  const done: string[] = [];
  for (const name of ['a', 'b', 'c']) turns.take(() => void done.push(name));
  expect(done).toEqual([]);
  for (const expected of ['a', 'b', 'c']) {
    await nextTurn();
    expect(done.at(-1)).toBe(expected);
  }
  turns.take(() => void done.push('later'));
  await nextTurn();
  expect(done).toEqual(['a', 'b', 'c', 'later']);
});
