import { describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/database.js';
import { spawnServer } from '../support/processes.js';
import { readRepositoryFile, refreshed, repositoryFile } from './generated.js';
import { createJob, deadLettersOf, waitFor } from '../engine/kit.js';

describe('docs/embedding.md', () => {
  it('shows the example as it is', async () => {
    const text = refreshed(readRepositoryFile('docs/embedding.md'));
    await expect(text, 'docs/embedding.md is stale: npm run docs').toMatchFileSnapshot(
      repositoryFile('docs/embedding.md'),
    );
  });

  it('shows an example that works', async () => {
    const database = await cloneDatabase();
    const program = await spawnServer({
      script: repositoryFile('examples/embedding.mjs'),
      args: ['--dev'],
      env: { DATABASE_URL: database.url },
    });
    const client = program.as('anybody');
    const run = (task_name: string, fields: object): Promise<string> =>
      createJob(client, 'default', { task_name, ...fields });
    expect((await client.get('/api/v1/tasks')).body.tasks).toEqual(['charge', 'echo', 'fail', 'log', 'sleep', 'total']);

    const sum = await waitFor(client, await run('total', { payload: { prices: [1, 2, 3.5] } }), 'completed');
    expect(sum.result).toEqual({ total: 6.5 });
    const bad = await waitFor(client, await run('total', { payload: {} }), 'failed');
    expect(await deadLettersOf(client, bad.id)).toMatchObject([
      { reason: 'non_retryable', error_message: 'prices must be a list' },
    ]);
    const config = { retry_delay_secs: 0 };
    const charged = await waitFor(client, await run('charge', { payload: { amount: 5 }, config }), 'completed');
    expect(charged).toMatchObject({
      result: { charged: 5, reference: charged.id },
      error_message: 'the bank does not answer',
      retry_count: 1,
      delivery_count: 2,
    });
    const isOfCharge = (line: Record<string, unknown>): boolean => line.job_id === charged.id;
    await program.logged((line) => isOfCharge(line) && line.attempt === 2);
    await program.logged((line) => isOfCharge(line) && line.msg === 'the job will be tried again');
    // The second attempt may begin before the process has heard that the retry is stored.
    const lines = program.log().filter(isOfCharge);
    expect(lines.toSorted((one, two) => Number(one.attempt) - Number(two.attempt))).toMatchObject([
      { level: 'info', attempt: 1 },
      { level: 'warn', attempt: 1, err: { message: 'the bank does not answer' } },
      { level: 'info', attempt: 1, msg: 'the job will be tried again' },
      { level: 'info', attempt: 2 },
    ]);

    program.signal('SIGTERM');
    expect(await program.exited).toEqual({ code: 0, signal: null });
    await database.drop();
  });
});
