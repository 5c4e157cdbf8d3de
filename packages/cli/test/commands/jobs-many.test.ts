import { describe, expect, it } from 'vitest';
import { KEY_A, useTestServer } from '../../../server/test/support/server.js';
import { newCli, rowsOf, type Cli } from '../support/cli.js';

const server = await useTestServer();
const cli = (): Cli => newCli(server.url, KEY_A);

const create = async (queue: string, fields: object = {}): Promise<string> =>
  (await server.a.post('/api/v1/jobs', { task_name: 'resize', config: { queue }, ...fields })).body.job_id as string;
/** A job that failed for good. */
async function failed(queue: string, error: string): Promise<string> {
  const id = await create(queue);
  const { body } = await server.worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 1, lease_secs: 3_600 });
  const { lease_token } = body.jobs[0];
  await server.worker.post(`/api/v1/jobs/${id}/fail`, { lease_token, error, retryable: false });
  return id;
}
const jobOf = async (id: string) => (await server.a.get(`/api/v1/jobs/${id}`)).body;
const idsOf = (stdout: string): (string | undefined)[] => rowsOf(stdout).map(({ ID }) => ID);

describe('jobs by error and metadata', () => {
  it('are listed', async () => {
    const queue = 'search-1';
    const refused = await failed(queue, 'smtp: connection REFUSED');
    await failed(queue, 'disk full');
    const signup = await create(queue, { metadata: { source: 'signup=now' } });
    await create(queue, { metadata: { source: 'import' } });
    const list = ['jobs', 'list', `--queue=${queue}`];
    expect(idsOf((await cli()([...list, '--error=refused'])).stdout)).toEqual([refused]);
    expect(idsOf((await cli()([...list, '--metadata=source=signup=now'])).stdout)).toEqual([signup]);
    expect(await cli()([...list, '--metadata=source'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--metadata must be FIELD=VALUE'),
    });
  });

  it('are cancelled', async () => {
    const queue = 'search-2';
    const retrying = await create(queue);
    const { body } = await server.worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 1, lease_secs: 3_600 });
    const { lease_token } = body.jobs[0];
    await server.worker.post(`/api/v1/jobs/${retrying}/fail`, { lease_token, error: 'connection refused' });
    const signup = await create(queue, { metadata: { source: 'signup' } });
    const other = await create(queue, { metadata: { source: 'import' } });
    const cancelled = { code: 0, stdout: 'cancelled 1 job\n' };
    expect(await cli()(['jobs', 'cancel', '--error=refused', '--yes'])).toMatchObject(cancelled);
    expect(await cli()(['jobs', 'cancel', '--metadata=source=signup', '--yes'])).toMatchObject(cancelled);
    expect((await jobOf(retrying)).status).toBe('cancelled');
    expect((await jobOf(signup)).status).toBe('cancelled');
    expect((await jobOf(other)).status).toBe('pending');
  });
});

describe('jobs run-now', () => {
  it('makes all that match due, after a question', async () => {
    const queue = 'due-1';
    const ids = [await create(queue, { delay_secs: 3600 }), await create(queue, { delay_secs: 7200 })];
    const args = ['jobs', 'run-now', `--queue=${queue}`];
    expect((await cli()([...args, '--dry-run'])).stdout).toMatch(/^would make due 2 jobs\nID/);
    expect(await cli()(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('will make due 2 jobs') });
    expect(await cli()([...args, '--yes'])).toMatchObject({ code: 0, stdout: 'made due 2 jobs\n' });
    const { body } = await server.worker.post(`/api/v1/queues/${queue}/lease`, { max_jobs: 5, wait_secs: 30 });
    expect(body.jobs.map(({ job }: { job: { id: string } }) => job.id).sort()).toEqual([...ids].sort());
  });

  it('takes one id without a question, and several', async () => {
    const [one, two, three] = [
      await create('due-2', { delay_secs: 3600 }),
      await create('due-2', { delay_secs: 3600 }),
      await create('due-2', { delay_secs: 3600 }),
    ];
    expect(await cli()(['jobs', 'run-now', one])).toEqual({ code: 0, stdout: `${one} is due now\n`, stderr: '' });
    const stdin = `${two}\n${three}\n`;
    const many = await cli()(['jobs', 'run-now', '-', '--yes', '--json'], { stdin });
    expect(JSON.parse(many.stdout)).toMatchObject({ action: 'run_jobs_now', status: 'completed', changed: 2 });
    expect((await cli()(['jobs', 'run-now', '--yes'])).stderr).toBe(
      'millrace: which jobs to make due? Give ids, or a filter such as --queue\n',
    );
  });
});

describe('jobs rerun', () => {
  it('creates all that match anew, after a question', async () => {
    const queue = 'again-1';
    const full = await failed(queue, 'disk full');
    await failed(queue, 'no such file');
    const args = ['jobs', 'rerun', `--queue=${queue}`, '--error=disk full'];
    expect((await cli()([...args, '--dry-run'])).stdout).toMatch(/^would rerun 1 job\nID/);
    expect(await cli()(args)).toMatchObject({ code: 2, stderr: expect.stringContaining('This will rerun 1 job.') });
    expect(await cli()([...args, '--yes'])).toMatchObject({ code: 0, stdout: 'created anew 1 job\n' });
    const { jobs } = (await server.a.get(`/api/v1/jobs?queue=${queue}&status=pending`)).body;
    expect(jobs).toMatchObject([{ metadata: { rerun_of: full } }]);
  });

  it('has a key and kept checkpoints for one job only', async () => {
    const args = ['jobs', 'rerun', '--queue=again-2', '--yes'];
    expect(await cli()([...args, '--key=k'])).toMatchObject({ code: 2, stderr: 'millrace: --key is for one id\n' });
    const kept = await cli()([...args, '--keep-checkpoints']);
    expect(kept).toMatchObject({ code: 2, stderr: 'millrace: --keep-checkpoints is for one id\n' });
  });
});
