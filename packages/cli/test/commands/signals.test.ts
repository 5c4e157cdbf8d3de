import { describe, expect, it } from 'vitest';
import { checkpointsOf, store, suspend } from '../../../server/test/engine/durable/kit.js';
import { createJob, leaseOne, newQueue, report } from '../../../server/test/engine/kit.js';
import { KEY_A, useTestServer } from '../../../server/test/support/server.js';
import { newCli, rowsOf, type Cli } from '../support/cli.js';

/** Durable jobs: what they wait for, what they are told, what they have stored. */
const server = await useTestServer({ config: { mode: 'api' } });
const { a, worker } = server;
const cli = (): Cli => newCli(server.url, KEY_A);
const HOUR = 3_600;

/** A job that has stored something and waits; without a key, for its own id. */
async function waiting(name: string, fields: { key?: string; ask?: object } = {}): Promise<string> {
  const queue = newQueue();
  const id = await createJob(a, queue);
  const leased = await leaseOne(worker, queue);
  await store(worker, leased, 'charge', { id: 'ch_1' });
  const { key, ask } = fields;
  const wait = { signal: { name, ...(key !== undefined && { key }) }, ...(ask !== undefined && { ask }) };
  expect((await suspend(worker, leased, { checkpoint: 'answer', delay_secs: HOUR, wait })).status).toBe(204);
  return id;
}

describe('signal', () => {
  it('reaches the job that waits for a name and a key, with every digit of the value', async () => {
    const millrace = cli();
    const id = await waiting('paid', { key: 'order-7' });
    const sent = await millrace(['signal', 'paid', '{"n":12345678901234567890}', '--key=order-7']);
    expect(sent).toEqual({ code: 0, stdout: 'delivered\n', stderr: '' });
    expect((await a.get(`/api/v1/jobs/${id}/checkpoints`)).text).toContain('{"n":12345678901234567890}');
  });

  it('is kept for the next wait, for as long as is said, once per key', async () => {
    const millrace = cli();
    const call = ['signal', 'paid', '-', '--key=order-8', '--ttl=1h', '--idempotency-key=once'];
    for (const value of ['1', '2'])
      expect(await millrace(call, { stdin: value })).toMatchObject({ stdout: 'stored until a job waits for it\n' });
    const id = await waiting('paid', { key: 'order-8' });
    expect(await checkpointsOf(a, id)).toMatchObject({ answer: { value: 1 } });
    const next = await millrace(['signal', 'paid', '--key=order-8', '--json']);
    expect(JSON.parse(next.stdout)).toEqual({ delivered: false });
  });

  it('goes to one job by its id, or by its row in the list of waits', async () => {
    const millrace = cli();
    const id = await waiting('go/on');
    await millrace(['waits', '--name=go/on']);
    expect(await millrace(['signal', 'go/on', '"yes"', '--job=@1'])).toMatchObject({ stdout: 'delivered\n' });
    expect(await checkpointsOf(a, id)).toMatchObject({ answer: { value: 'yes' } });
    await a.post(`/api/v1/jobs/${id}/cancel`);
    const late = await millrace(['signal', 'go/on', '--job', id]);
    expect(late).toMatchObject({ code: 1, stdout: '' });
    expect(late.stderr).toContain('already cancelled');
  });

  it('goes to the step of a workflow that waits for it', async () => {
    const steps = [{ name: 'ask', wait: { signal: 'approved', timeout_secs: HOUR } }];
    const { workflow_id: id } = (await a.post('/api/v1/workflows', { name: 'w', steps })).body;
    const sent = await cli()(['signal', 'approved', '{"by":"ann"}', '--workflow', id]);
    expect(sent).toEqual({ code: 0, stdout: 'delivered\n', stderr: '' });
  });

  it.each([
    [['signal', 'go'], 'either --job or --key'],
    [['signal', 'go', '--job=x', '--key=y'], 'either --job or --key'],
    [['signal', 'go', '--job=x', '--ttl=1h'], '--ttl goes with --key'],
    [['signal', 'go', 'yes', '--key=y'], 'VALUE is not JSON'],
    [['signal', 'go', '--key=y', '--ttl=soon'], '--ttl must be a number and a unit'],
  ])('refuses %j', async (words, message) => {
    const refused = await cli()(words);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toContain(message);
  });
});

describe('waits', () => {
  it('lists who waits for what, and asks what', async () => {
    const millrace = cli();
    const asking = await waiting('approval', { ask: { text: 'Refund\u001b[31m 120.00?' } });
    const silent = await waiting('approval', { key: 'order-9' });
    const rows = rowsOf((await millrace(['waits', '--name=approval'])).stdout);
    expect(rows).toMatchObject([
      { JOB: silent, SIGNAL: 'approval', KEY: 'order-9', TASK: 'task', ASKS: '-' },
      { JOB: asking, SIGNAL: 'approval', KEY: 'its id', ASKS: String.raw`Refund\u001b[31m 120.00?` },
    ]);
    expect(rowsOf((await millrace(['waits', '--ask', '--name=approval'])).stdout)).toHaveLength(1);
    expect(rowsOf((await millrace(['waits', '--key=order-9'])).stdout)).toHaveLength(1);
    const page = await millrace(['waits', '--name=approval', '--limit=1', '--json']);
    expect(JSON.parse(page.stdout)).toMatchObject({ waits: [{ job_id: silent }], has_more: true });
    const lines = (await millrace(['waits', '--name=approval', '--all', '--jsonl'])).stdout.trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { job_id: string }).job_id)).toEqual([silent, asking]);
    expect(await millrace(['waits', '--name=nobody'])).toMatchObject({ stderr: 'no job waits for a signal\n' });
  });
});

describe('a durable job', () => {
  it('is shown with what it waits for, and with what it has stored', async () => {
    const millrace = cli();
    const ask = { text: 'Refund?', choices: [{ label: 'Yes', value: { n: 1 } }, { label: 'No', value: false }] }; // prettier-ignore
    const id = await waiting('approval', { ask });
    const { stdout } = await millrace(['jobs', 'get', id]);
    expect(stdout).toMatch(new RegExp(`\nwaiting for +signal approval, key ${id}\nuntil +\\S+Z\nasks +Refund\\?\n`));
    expect(stdout).toMatch(/\nchoices +Yes: \{"n":1\}\n +No: false\n/);
    const [stored, waits] = (await millrace(['jobs', 'checkpoints', id])).stdout.split('\n\n');
    expect(rowsOf(stored!)).toMatchObject([{ NAME: 'charge', ATTEMPT: '1', VALUE: '{"id":"ch_1"}' }]);
    expect(rowsOf(waits!)).toMatchObject([{ 'WAITS FOR': 'answer', UNTIL: expect.stringMatching(/Z$/) as unknown }]);
    const { text } = await a.get(`/api/v1/jobs/${id}/checkpoints`);
    expect((await millrace(['jobs', 'checkpoints', id, '--json'])).stdout).toBe(`${text}\n`);
  });

  it('that waits for others says how many', async () => {
    const queue = newQueue();
    const id = await createJob(a, queue);
    const parent = await leaseOne(worker, queue);
    await report(worker, 'children', parent, { jobs: [{ name: 'c', task_name: 't', config: { queue: newQueue() } }] });
    await suspend(worker, parent, { checkpoint: 'all', delay_secs: HOUR, wait: { children: ['c'] } });
    expect((await cli()(['jobs', 'get', id])).stdout).toMatch(/\nwaiting for +1 of 1 children\nuntil /);
  });

  it('that sleeps says so, and one that has stored nothing too', async () => {
    const millrace = cli();
    const queue = newQueue();
    const id = await createJob(a, queue);
    expect(await millrace(['jobs', 'checkpoints', id])).toMatchObject({ code: 0, stderr: 'no checkpoints\n' });
    await suspend(worker, await leaseOne(worker, queue), { checkpoint: 'grace', delay_secs: HOUR });
    expect((await millrace(['jobs', 'get', id])).stdout).toMatch(/\nwaiting for +grace \(asleep\)\nuntil +\S+Z\n/);
  });
});
