import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, KEY_A, KEY_B, useTestServer } from '../../../server/test/support/server.js';
import { newCli, rowsOf, type Cli } from '../support/cli.js';

/** Dead letters, workflows, schedules and queues. */
const server = await useTestServer();
const cli = (): Cli => newCli(server.url, KEY_A);

const failed = async (millrace: Cli, message: string): Promise<void> => {
  await millrace(['run', 'fail', JSON.stringify({ message, permanent: true }), '--wait']);
};

describe('dlq', () => {
  it('lists, groups, shows and replays', async () => {
    const millrace = cli();
    for (const n of [1, 2]) await failed(millrace, `order ${n} not found`);
    const listed = await millrace(['dlq', 'list', '--task=fail', '--reason=non_retryable', '--not-replayed']);
    expect(rowsOf(listed.stdout).map(({ REPLAYED, ERROR }) => [REPLAYED, ERROR])).toEqual([
      ['no', 'order 2 not found'],
      ['no', 'order 1 not found'],
    ]);
    const [group] = rowsOf((await millrace(['dlq', 'groups', '--since=1h'])).stdout);
    expect(group).toMatchObject({ COUNT: '2', TASK: 'fail', REASON: 'non_retryable' });
    expect((await millrace(['dlq', 'get', '@1'])).stdout).toMatch(/^id +\d+\njob +\S{36}\n/);
    const { stdout: copy } = await millrace(['dlq', 'replay', '@1']);
    expect((await server.a.get(`/api/v1/jobs/${copy.trim()}`)).body.metadata).toHaveProperty(
      'replayed_from_dead_letter',
    );
    expect(await millrace(['dlq', 'replay', '@1'])).toMatchObject({ code: 1, stdout: '' });
    const replayed = rowsOf((await millrace(['dlq', 'list', '--replayed'])).stdout);
    expect(replayed.map(({ ERROR }) => ERROR)).toEqual(['order 2 not found']);
  });

  it('replays many, and says what became of them', async () => {
    const millrace = newCli(server.url, KEY_B);
    for (const n of [1, 2]) await failed(millrace, `order ${n} not found`);
    const dry = await millrace(['dlq', 'replay', '--all', '--dry-run', '--json']);
    expect(JSON.parse(dry.stdout).matched).toEqual({ n: 2, exact: true });
    const done = await millrace(['dlq', 'replay', '--task=fail', '--yes', '--json']);
    expect(JSON.parse(done.stdout)).toMatchObject({ action: 'replay_dead_letters', status: 'completed', changed: 2 });
    expect((await millrace(['operations', 'get', '@last'])).stdout).toMatch(/\nreplayed jobs +\d completed, /);
    const lines = await millrace(['operations', 'watch', '@last', '--jsonl']);
    expect(JSON.parse(lines.stdout)).toMatchObject({ status: 'completed' });
    expect((await millrace(['dlq', 'replay', '--yes'])).stderr).toContain('which dead letters to replay?');
  });
});

describe('workflows', () => {
  const order = (task: string): string =>
    JSON.stringify({
      name: 'order',
      steps: [
        { name: 'charge', task_name: 'echo', payload: { paid: 1 } },
        { name: 'ship', task_name: task, payload: { permanent: true }, depends_on: ['charge'] },
      ],
    });

  it('starts one, waits for it and prints its context', async () => {
    const millrace = cli();
    const done = await millrace(['workflows', 'start', '-', '--wait'], { stdin: order('echo') });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(done.stdout)).toMatchObject({ paid: 1, charge: { paid: 1 } });
    const { stdout } = await millrace(['workflows', 'get', '@last']);
    expect(stdout).toMatch(/^id +\S{36}\nname +order\nstatus +completed\n/);
    expect(rowsOf(stdout.split('\n\n')[1]!).map(({ STEP, STATUS }) => [STEP, STATUS])).toEqual([
      ['charge', 'completed'],
      ['ship', 'completed'],
    ]);
    expect((await millrace(['workflows', 'diagram', '@last'])).stdout).toMatch(/^(graph|flowchart) /);
    const [row] = rowsOf((await millrace(['workflows', 'list', '--name=order', '--status=completed'])).stdout);
    expect(row).toMatchObject({ NAME: 'order', STATUS: 'completed', STEPS: '2/2' });
    expect(await millrace(['workflows', 'cancel', '@1'])).toMatchObject({ code: 1 });
    const { body } = await server.a.get(`/api/v1/workflows/${row!.ID}/steps`);
    const steps = await millrace(['workflows', 'get', '@1', '--steps', '--json']);
    expect(JSON.parse(steps.stdout)).toEqual(body);
  });

  it('exits with 3 if it fails, and shows how that came', async () => {
    const millrace = cli();
    expect(await millrace(['workflows', 'start', order('fail'), '--wait'])).toMatchObject({ code: 3 });
    const { code, stdout } = await millrace(['workflows', 'watch', '@last']);
    expect(code).toBe(3);
    expect(stdout).toMatch(
      / {2}charge {2}completed\n.* {2}ship {2}failed {2}intentional failure\n.*workflow order {2}failed\n$/,
    );
    const events = await millrace(['workflows', 'watch', '@last', '--jsonl']);
    expect(JSON.parse(events.stdout)).toMatchObject({ workflow: { status: 'failed' } });
  });

  it('resumes one from a step, after saying what that means, and all that match after a question', async () => {
    const millrace = cli();
    await millrace(['workflows', 'start', order('fail'), '--wait']);
    const preview = await millrace(['workflows', 'resume', '@last', '--from=charge', '--dry-run']);
    expect(preview).toMatchObject({ code: 0, stdout: 'would run again: charge, ship\n' });
    const resumed = await millrace(['workflows', 'resume', '@last', '--context={"n":1.10}', '--json']);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ steps: ['ship'] });
    expect(await millrace(['workflows', 'watch', '@last'])).toMatchObject({ code: 3 });
    expect((await millrace(['workflows', 'get', '@last', '--json'])).stdout).toContain('"n":1.10');
    const many = await millrace(['workflows', 'resume', '--name=order', '--yes']);
    expect(many).toMatchObject({ code: 0, stdout: expect.stringMatching(/^resumed \d+ workflows?\n$/) });
    expect(await millrace(['workflows', 'resume', '--name=order', '--from=ship'])).toMatchObject({ code: 2 });
    expect(await millrace(['workflows', 'resume'])).toMatchObject({ code: 2 });
  });

  it('cancels one that waits', async () => {
    const millrace = cli();
    const body = '{"name":"slow","steps":[{"name":"a","task_name":"resize","queue":"nobody"}]}';
    const id = (await millrace(['workflows', 'start', body])).stdout.trim();
    expect(await millrace(['workflows', 'start', body, '--wait', '--timeout=0s'])).toMatchObject({ code: 8 });
    expect((await millrace(['workflows', 'cancel', id])).stdout).toBe(`cancelled ${id}\n`);
    expect((await server.a.get(`/api/v1/workflows/${id}`)).body.status).toBe('cancelled');
  });
});

describe('cron', () => {
  it('puts, lists, fires, pauses and deletes by name', async () => {
    const millrace = cli();
    const put = [
      'cron',
      'put',
      'nightly',
      '30 3 * * *',
      'echo',
      '{"n":12345678901234567890}',
      '--timezone=Europe/Berlin',
    ];
    const { stdout: id } = await millrace(put);
    expect((await millrace([...put, '--queue=reports'])).stdout).toBe(id);
    expect((await server.a.get(`/api/v1/cron/${id.trim()}`)).text).toContain('12345678901234567890');
    expect(rowsOf((await millrace(['cron', 'list'])).stdout)[0]).toMatchObject({
      NAME: 'nightly',
      EXPRESSION: '30 3 * * *',
      ZONE: 'Europe/Berlin',
      QUEUE: 'reports',
      NEXT: expect.stringMatching(/^(due|in \d+[smh])$/) as unknown,
    });
    expect((await millrace(['cron', 'next', '@1', '--count=3'])).stdout.trimEnd().split('\n')).toHaveLength(3);
    const { stdout: job } = await millrace(['cron', 'trigger', 'nightly']);
    expect(rowsOf((await millrace(['cron', 'firings', 'nightly'])).stdout)[0]).toMatchObject({
      'JOB OR WORKFLOW': job.trim(),
      KIND: 'triggered',
    });
    expect((await millrace(['cron', 'pause', 'nightly'])).stdout).toBe('paused nightly\n');
    expect(rowsOf((await millrace(['cron', 'list'])).stdout)[0]!.NEXT).toBe('paused');
    expect((await millrace(['cron', 'resume', 'nightly'])).stdout).toBe('resumed nightly\n');
    expect(await millrace(['cron', 'delete', 'nightly'])).toMatchObject({ code: 2 });
    expect((await millrace(['cron', 'delete', 'nightly', '-y'])).stdout).toBe('deleted nightly\n');
    expect(await millrace(['cron', 'pause', 'nightly'])).toMatchObject({ code: 5 });
  });

  it('shows when an expression would fire', async () => {
    const { code, stdout } = await cli()(['cron', 'next', '--expression=0 0 1 1 *', '--json']);
    expect([code, JSON.parse(stdout).next.length]).toEqual([0, 5]);
    expect((await cli()(['cron', 'next', '--expression=0 0 1 13 *'])).code).toBe(1);
    expect((await cli()(['cron', 'next'])).stderr).toBe('millrace: give NAME or --expression, one of them\n');
  });
});

describe('queues', () => {
  it('shows what they hold', async () => {
    const millrace = cli();
    await millrace(['run', 'resize', '--queue=images']);
    await millrace(['run', 'resize', '--queue=images', '--delay=1h']);
    const row = rowsOf((await millrace(['queues'])).stdout).find(({ QUEUE }) => QUEUE === 'images');
    expect(row).toMatchObject({ PENDING: '1', SCHEDULED: '1', RUNNING: '0' });
    const lines = (await millrace(['queues', '--jsonl'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line)).find(({ queue }) => queue === 'images')).toMatchObject({ pending: 1 });
    const { queues } = JSON.parse((await millrace(['queues', '--json'])).stdout);
    expect(queues).toContainEqual(expect.objectContaining({ queue: 'images', pending: 1, scheduled: 1 }));
  });

  it('shows those that hold nothing on request', async () => {
    await server.database.query(
      `INSERT INTO millrace.series_names (tenant, queue, task) VALUES ('tenant-a', 'rested', 't')`,
    );
    const millrace = cli();
    const names = async (...options: string[]) =>
      rowsOf((await millrace(['queues', ...options])).stdout).map(({ QUEUE }) => QUEUE);
    expect(await names()).not.toContain('rested');
    expect(await names('--idle')).toContain('rested');
    const lines = (await millrace(['queues', '--idle', '--jsonl'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line)).find(({ queue }) => queue === 'rested')).toMatchObject({ pending: 0 });
  });

  it('shows more than fit a page', async () => {
    const client = server.as(KEY_B);
    for (const part of ['one', 'two']) {
      const jobs = Array.from({ length: 600 }, (_, n) => ({ task_name: 't', config: { queue: `${part}-${n}` } }));
      expect((await client.post('/api/v1/jobs/batch', { jobs })).status).toBe(201);
    }
    const millrace = newCli(server.url, KEY_B);
    for (const [options, lines] of [[[], 1201] as const, [['--jsonl'], 1200] as const]) {
      const { stdout, stderr } = await millrace(['queues', ...options]);
      expect([stdout.trimEnd().split('\n').length, stderr]).toEqual([lines, '']);
    }
  });

  it('shows one, which an operator may pause', async () => {
    const millrace = cli();
    const env = { MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN };
    await millrace(['run', 'resize', '--queue=held']);
    const { stdout } = await millrace(['queues', 'get', 'held']);
    expect(stdout).toMatch(/^queue +held\npending +1\n/);
    const [, tasks = '', next = ''] = stdout.split('\n\n');
    expect(rowsOf(tasks)).toEqual([{ TASK: 'resize', WAITING: '1', SCHEDULED: '0', RUNNING: '0' }]);
    expect(rowsOf(next)).toMatchObject([{ TASK: 'resize', PRIORITY: '0', DUE: 'now' }]);
    expect(await millrace(['queues', 'pause', 'held'])).toMatchObject({ code: 4 });
    const set = (...options: string[]) => millrace(['queues', 'set', 'held', ...options], { env });
    expect((await set('--running=4', '--rate=100/60', '--burst=5', '--share=tenant')).stdout).toBe(
      'held: at most 4 run, rate 100/60s burst 5, tenants take turns\n',
    );
    expect((await millrace(['queues', 'get', 'held'])).stdout).toContain('100/60s burst 5');
    expect((await set('--running=none', '--rate=none', '--share=none')).stdout).toBe(
      'held: any number may run, no rate, no turns\n',
    );
    for (const wrong of [[], ['--rate=fast'], ['--burst=2'], ['--running=0']])
      expect(await set(...wrong)).toMatchObject({ code: 2, stdout: '' });
    expect(await millrace(['queues', 'pause', 'held'], { env })).toEqual({
      ...{ code: 0, stdout: 'paused held\n', stderr: '' },
    });
    const held = async (): Promise<string | undefined> =>
      rowsOf((await millrace(['queues'])).stdout).find(({ QUEUE }) => QUEUE === 'held')?.PAUSED;
    expect(await held()).toBe('yes');
    expect((await millrace(['jobs', 'why', '@last'])).stdout).toMatch(/paused/);
    expect((await millrace(['queues', 'resume', 'held'], { env })).stdout).toBe('resumed held\n');
    expect(await held()).toBe('no');
  });

  it('shows the keys that jobs wait for', async () => {
    const millrace = cli();
    const job = { task_name: 'resize', config: { queue: 'held', limits: [{ key: 'user-7', running: 1 }] } };
    for (let n = 0; n < 2; n++) expect((await server.a.post('/api/v1/jobs', job)).status).toBe(201);
    const rows = rowsOf((await millrace(['limits', 'list', '--queue=held'])).stdout);
    expect(rows).toMatchObject([{ QUEUE: 'held', KEY: 'user-7', RUNNING: '1', LIMIT: '1', WAITING: '1' }]);
    expect((await millrace(['limits', 'list', '--queue=nowhere'])).stderr).toMatch(/no keys in use/);
  });

  it('shows who works on them', async () => {
    const millrace = cli();
    await millrace(['run', 'resize', '--queue=worked']);
    await server.worker.post('/api/v1/queues/worked/lease', { worker_id: 'somebody', lease_secs: 3_600 });
    const rows = rowsOf((await millrace(['workers'])).stdout);
    expect(rows.find(({ WORKER }) => WORKER === 'somebody')).toMatchObject({ QUEUE: 'worked', RUNNING: '1' });
  });
});
