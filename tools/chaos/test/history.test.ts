import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { fileJournal, History } from '../src/history/history.js';

const dir = mkdtempSync(join(tmpdir(), 'millrace-history-'));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

it('reads the complete lines that a killed process wrote, and what is added later', () => {
  const path = join(dir, 'worker.journal');
  const journal = fileJournal(path);
  const call = { op: 'complete', method: 'POST', path: '/é', job: 'j', startedAt: 1 } as const;
  journal.call({ id: 'a', ...call });
  journal.answer({ id: 'a', status: 204, endedAt: 2 });
  journal.call({ id: 'b', ...call });
  const history = new History();
  history.load(path);
  expect(history.entries().map(({ call: { id }, answer }) => [id, answer?.status])).toEqual([
    ['a', 204],
    ['b', undefined],
  ]);
  journal.answer({ id: 'b', status: 409, endedAt: 3 });
  journal.close();
  appendFileSync(path, '{"call":{"id":"cut sho');
  history.load(path);
  expect(history.entries().map(({ answer }) => answer?.status)).toEqual([204, 409]);
  new History().load(join(dir, 'never-written.journal'));
});
