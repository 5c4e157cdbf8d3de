import { describe, expect, it } from 'vitest';
import { complete, createJob, leaseOne, newQueue } from '../../../server/test/engine/kit.js';
import { KEY_A, useTestServer } from '../../../server/test/support/server.js';
import { newCli, type Cli } from '../support/cli.js';

/** What handlers wrote, on the command line. */
const server = await useTestServer({ config: { mode: 'api' } });
const { a, worker } = server;
const cli = (): Cli => newCli(server.url, KEY_A);
const AT = '2026-01-31T09:00:00.000Z';

/** A job of which a worker holds the lease, with what its handler has written. */
async function written(...messages: string[]): Promise<{ id: string; finish: () => Promise<unknown> }> {
  const queue = newQueue();
  const id = await createJob(a, queue);
  const leased = await leaseOne(worker, queue);
  const logs = messages.map((message) => ({ at: AT, level: 'info', message, fields: { n: 1 } }));
  const beat = { lease_token: leased.lease_token, extend_secs: 3_600, logs };
  expect((await worker.post(`/api/v1/jobs/${id}/heartbeat`, beat)).status).toBe(200);
  return { id, finish: () => complete(worker, leased) };
}

describe('jobs logs', () => {
  it('shows the lines of a job, with what could act on a terminal escaped', async () => {
    const { id } = await written('begun', 'half \u001b[31mdone');
    const { code, stdout } = await cli()(['jobs', 'logs', id]);
    expect(code).toBe(0);
    expect(stdout.split('\n').slice(0, 2)).toEqual([
      '2026-01-31T09:00:00Z #1 info  begun {"n":1}',
      '2026-01-31T09:00:00Z #1 info  half \\u001b[31mdone {"n":1}',
    ]);
  });

  it('follows a job until it has ended', async () => {
    const { id, finish } = await written('begun');
    const followed = cli()(['jobs', 'logs', '-f', id]);
    await finish();
    const { code, stdout } = await followed;
    expect([code, stdout]).toEqual([0, '2026-01-31T09:00:00Z #1 info  begun {"n":1}\n']);
  });

  it('prints JSON, one line each, and says when there is nothing', async () => {
    const { id, finish } = await written('begun');
    await finish();
    const { stdout } = await cli()(['jobs', 'logs', id, '--jsonl', '--attempt=1']);
    expect(JSON.parse(stdout)).toMatchObject({ attempt: 1, message: 'begun', fields: { n: 1 } });
    const nothing = await cli()(['jobs', 'logs', id, '--attempt=2']);
    expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'its handlers have not written anything\n' });
  });
});
