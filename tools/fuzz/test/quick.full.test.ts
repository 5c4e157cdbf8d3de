import { expect, it } from 'vitest';
import { cloneDatabase } from '../../../packages/server/test/support/database.js';
import { inWords, isClean } from '../src/report.js';
import { measureClasses } from '../src/memory-classes.js';
import { run } from '../src/run.js';

/** The short form of `npm run fuzz`. The seed is fixed: what this finds, it finds for everybody. */
it('the service withstands a few thousand broken requests', async () => {
  const database = await cloneDatabase();
  try {
    const result = await run({
      seed: 4711,
      from: 0,
      count: 3000,
      slow: false,
      databaseUrl: database.url,
      say: () => undefined,
    });
    expect(isClean(result) ? 'clean' : inWords(result)).toBe('clean');
    expect(result.tally.sent).toBe(3000);
    // Every kind of answer was provoked: a fuzzer that is always turned away proves nothing about the rest.
    expect(Object.keys(result.tally.byStatus)).toEqual(
      expect.arrayContaining(['200', '201', '204', '400', '401', '403', '404', '409', '413', '415', '431']),
    );
  } finally {
    await database.drop();
  }
});

it('tells what each class of requests takes of the memory', async () => {
  const database = await cloneDatabase();
  try {
    const classes = ['none', 'json.dense', 'chunked.large'];
    const measured = await measureClasses({ seed: 4711, databaseUrl: database.url, say: () => undefined }, classes);
    expect(measured.map(({ name }) => name).sort()).toEqual([...classes].sort());
    for (const { requests, inProgress } of measured) {
      expect(requests).toBeGreaterThan(0);
      expect(inProgress).toBeGreaterThanOrEqual(0);
    }
  } finally {
    await database.drop();
  }
});
