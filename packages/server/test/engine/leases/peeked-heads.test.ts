import { describe, expect, it } from 'vitest';
import { PeekedHeads } from '../../../src/engine/leases/peeked-heads.js';

/** What looks at queues have found, and for how long it counts. Time is what a test says it is. */
const QUEUE = 'q';
const HEADS = [
  { priority: 5, at: 100 },
  { priority: 5, at: 200 },
  { priority: 1, at: 50 },
];

function looked(more = false, dueInMs = Infinity): PeekedHeads {
  const peeked = new PeekedHeads();
  peeked.found(QUEUE, { heads: HEADS, more }, 1_000, dueInMs);
  return peeked;
}

describe('what a look has found', () => {
  it('is known for a moment, up to what is asked for', () => {
    expect(looked().of(QUEUE, 2, 1_001)).toEqual({ heads: HEADS.slice(0, 2), more: true });
    expect(looked().of(QUEUE, 3, 1_001)).toEqual({ heads: HEADS, more: false });
    expect(looked(true).of(QUEUE, 3, 1_001)).toEqual({ heads: HEADS, more: true });
    expect(looked().of('another', 1, 1_001)).toBeNull();
    expect(looked().of(QUEUE, 1, 1_101)).toBeNull();
  });

  it('is known until the next job falls due', () => {
    expect(looked(false, 20).of(QUEUE, 1, 1_019)).not.toBeNull();
    expect(looked(false, 20).of(QUEUE, 1, 1_020)).toBeNull();
  });

  it('is less by what was claimed since, and nothing once all of it was and there was more', () => {
    const [some, all] = [looked(true), looked()];
    for (const peeked of [some, all]) peeked.claiming(QUEUE, 2);
    expect(some.of(QUEUE, 5, 1_001)).toEqual({ heads: HEADS.slice(2), more: true });
    for (const peeked of [some, all]) peeked.claiming(QUEUE, 2);
    expect(some.of(QUEUE, 5, 1_001)).toBeNull();
    expect(all.of(QUEUE, 5, 1_001)).toEqual({ heads: [], more: false });
  });

  it('is no longer known when a claim has found less', () => {
    const peeked = looked();
    peeked.forget(QUEUE);
    expect(peeked.of(QUEUE, 1, 1_001)).toBeNull();
  });

  it.each([
    ['a job of a higher priority', [{ priority: 9, since: null }]],
    ['a job that was due earlier', [{ priority: 1, since: 49_999 }]],
    [
      'one of several that comes first',
      [
        { priority: 0, since: null },
        { priority: 2, since: null },
      ],
    ],
    ['news that do not say what they are of', []],
  ])('is no longer known after %s', (_, news) => {
    const peeked = looked();
    peeked.heard(QUEUE, news);
    expect(peeked.of(QUEUE, 1, 1_001)).toBeNull();
  });

  it.each([
    ['a lower priority', { priority: 0, since: 10 }],
    ['the same priority, due now', { priority: 1, since: null }],
    ['the same priority, due later than the last', { priority: 1, since: 50_001 }],
  ])('has more behind it after a job of %s', (_, job) => {
    const peeked = looked();
    peeked.heard(QUEUE, [job]);
    expect(peeked.of(QUEUE, 3, 1_001)).toEqual({ heads: HEADS, more: true });
  });

  it('is not known of an empty queue once there is any news of it', () => {
    const peeked = new PeekedHeads();
    peeked.found(QUEUE, { heads: [], more: false }, 1_000, Infinity);
    expect(peeked.of(QUEUE, 1, 1_001)).toEqual({ heads: [], more: false });
    peeked.heard(QUEUE, [{ priority: 0, since: null }]);
    expect(peeked.of(QUEUE, 1, 1_001)).toBeNull();
  });

  it('is kept of a bounded number of queues', () => {
    const peeked = new PeekedHeads();
    const queues = Array.from({ length: 2_500 }, (_, n) => `q${n}`);
    for (const queue of queues) peeked.found(queue, { heads: HEADS, more: false }, 1_000, Infinity);
    const known = queues.filter((queue) => peeked.of(queue, 1, 1_001) !== null);
    expect(known).toContain('q2499');
    expect(known.length).toBeLessThanOrEqual(1_000);
  });
});
