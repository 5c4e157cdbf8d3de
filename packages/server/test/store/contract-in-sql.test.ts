import { readdirSync, readFileSync } from 'node:fs';
import { DEFAULT_JOB_CONFIG, TERMINAL_JOB_STATUSES, TERMINAL_WORKFLOW_STATUSES } from '@millrace/contract';
import { describe, expect, it } from 'vitest';

/** SQL cannot import the contract. Where it repeats a list or a default, the repetition must agree with it. */
const directory = new URL('../../sql/queries/', import.meta.url);
const queries = readdirSync(directory, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.sql'))
  .map((file) => ({ file, text: readFileSync(new URL(file, directory), 'utf8') }));

const quoted = (statuses: readonly string[]): string => statuses.map((status) => `'${status}'`).join(', ');

function found(pattern: RegExp): { readonly file: string; readonly match: string }[] {
  return queries.flatMap(({ file, text }) => [...text.matchAll(pattern)].map(([, match = '']) => ({ file, match })));
}

describe('what the statements repeat of the contract', () => {
  it('lists every terminal state where it lists those of jobs or of workflows', () => {
    const lists = found(/(?:\bIN \(|\bARRAY\[)('completed'[^)\]]*)[)\]]/g);
    expect(lists.length).toBeGreaterThan(0);
    for (const { file, match } of lists) {
      const ofJobs = quoted(TERMINAL_JOB_STATUSES);
      const ofWorkflows = quoted(TERMINAL_WORKFLOW_STATUSES);
      expect([ofJobs, ofWorkflows], file).toContain(match.replace(/\s+/g, ' '));
    }
  });

  it('assumes the retry budget of the default configuration', () => {
    const budgets = found(/'max_retries'\)::int, (\d+)\)/g);
    expect(budgets.length).toBeGreaterThan(0);
    for (const { file, match } of budgets) expect(Number(match), file).toBe(DEFAULT_JOB_CONFIG.max_retries);
  });
});
