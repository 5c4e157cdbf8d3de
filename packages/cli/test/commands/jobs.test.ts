import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, KEY_A, KEY_B, useTestServer } from '../../../server/test/support/server.js';
import { until } from '../../../server/test/support/until.js';
import { newCli, rowsOf, type Cli } from '../support/cli.js';

const server = await useTestServer();
const cli = (): Cli => newCli(server.url, KEY_A);
const newJob = async (body: object): Promise<string> =>
  (await server.a.post('/api/v1/jobs', body)).body.job_id as string;
/** A job that nobody runs. */
const waitingJob = (queue: string): Promise<string> => newJob({ task_name: 'resize', config: { queue } });

/** Here, since its server has few queues: an operator is shown a thousand at most. */
describe('queues pause', () => {
  it('doubts the name of a queue that nobody uses', async () => {
    const millrace = cli();
    const env = { MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN };
    await millrace(['run', 'resize', '--queue=held']);
    expect(await millrace(['queues', 'pause', 'held'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(await millrace(['queues', 'resume', 'held'], { env })).toMatchObject({ code: 0, stderr: '' });
    expect(await millrace(['queues', 'pause', 'hold'], { env })).toEqual({
      ...{ code: 0, stdout: 'paused hold\n' },
      stderr:
        'millrace: nothing waits or runs on the queue hold, and nobody has worked on it lately; is that its name?\n',
    });
    expect((await millrace(['queues', 'resume', 'hold'], { env })).stderr).toBe('');
  });

  it('says why, and is among what operators did', async () => {
    const millrace = cli();
    const env = { MILLRACE_ADMIN_TOKEN: ADMIN_TOKEN };
    await millrace(['run', 'resize', '--queue=why']);
    expect((await millrace(['queues', 'pause', 'why', '--reason=it is late'], { env })).code).toBe(0);
    const { stdout } = await millrace(['queues', 'get', 'why']);
    expect(stdout).toMatch(/paused by +admin\n/);
    expect(stdout).toMatch(/because +it is late\n/);
    const [newest] = rowsOf((await millrace(['audit', '--limit=1'], { env })).stdout);
    expect(newest).toMatchObject({ BY: 'admin', ACTION: 'pause_queue', TARGET: 'why' });
    expect((await millrace(['audit'])).code).toBe(4);
    await millrace(['queues', 'resume', 'why'], { env });
  });
});

describe('run', () => {
  it('prints the id of the job, which is @last from then on', async () => {
    const millrace = cli();
    const { code, stdout } = await millrace(['run', 'resize', '{"image":7}', '--queue=run-1', '--priority=-3']);
    expect(code).toBe(0);
    const job = (await server.a.get(`/api/v1/jobs/${stdout.trim()}`)).body;
    expect(job).toMatchObject({ task_name: 'resize', queue_name: 'run-1', payload: { image: 7 } });
    expect(job.config.priority).toBe(-3);
    expect((await millrace(['jobs', 'get', '@last', '--json'])).stdout).toContain(`"id":"${job.id}"`);
  });

  it('says where a task ran before that no server process knows', async () => {
    const millrace = cli();
    await millrace(['run', 'thumbnail', '--queue=images']);
    await millrace(['run', 'thumbnail', '--queue=more-images']);
    const { code, stdout, stderr } = await millrace(['run', 'thumbnail']);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^\S{36}\n$/) });
    expect(stderr).toContain('no server process has registered the task thumbnail');
    expect(stderr).toMatch(/were on other queues before: --queue=more-images or --queue=images\n$/);
    expect((await millrace(['run', 'unheard-of'])).stderr).not.toContain('before');
  });

  it('waits for the result and prints it with every digit', async () => {
    const payload = '{"n":12345678901234567890,"x":1.10}';
    expect(await cli()(['run', 'echo', '-', '--wait'], { stdin: payload })).toEqual({
      code: 0,
      stdout: `${payload}\n`,
      stderr: '',
    });
  });

  it('exits with 3 if the job fails, with the error on standard error', async () => {
    const payload = '{"message":"no such \\u001b[31mcard","permanent":true}';
    const { code, stdout, stderr } = await cli()(['run', 'fail', payload, '--wait']);
    expect({ code, stdout }).toEqual({ code: 3, stdout: '' });
    expect(stderr).toMatch(/^millrace: the job \S{36} failed: no such \\u001b\[31mcard\n$/);
    expect(stderr).not.toContain('\u001b');
  });

  it('exits with 8 if it has not ended in time, and 130 if it is interrupted', async () => {
    const args = ['run', 'resize', '--queue=run-2', '--wait'];
    const late = await cli()([...args, '--timeout=10ms']);
    expect(late).toMatchObject({ code: 8, stdout: '' });
    expect(late.stderr).toMatch(/is still pending; it has not been cancelled\n$/);
    const interrupt = new AbortController();
    const interrupted = await cli()(args, {
      terminal: { stderr: true },
      signal: interrupt.signal,
      onOutput: (text) => text.includes('pending') && interrupt.abort(),
    });
    expect(interrupted).toMatchObject({ code: 130, stdout: '' });
  });

  it('uses the job of a unique key that is there, and may let it expire', async () => {
    const args = ['run', 'resize', '--queue=run-4', '--unique=site-7', '--expires=1h'];
    const [first, second] = [await cli()(args), await cli()([...args, '--while=unfinished'])];
    expect(second).toEqual({ code: 0, stdout: first.stdout, stderr: '' });
    expect((await server.a.get(`/api/v1/jobs/${first.stdout.trim()}`)).body.config).toMatchObject({
      expires_secs: 3600,
      unique: { key: 'site-7', while: 'waiting' },
    });
  });

  it('creates one job with one key', async () => {
    const args = ['run', 'resize', '--queue=run-3', '--key=run-key', '--delay=1h', '--json'];
    const [first, second] = [await cli()(args), await cli()(args)];
    expect(JSON.parse(second.stdout).job_id).toBe(JSON.parse(first.stdout).job_id);
  });

  it.each([
    [['run'], 'run needs TASK: the name of the task; see millrace run --help'],
    [['run', 'echo', '{'], 'PAYLOAD is not JSON; in a shell, put it between single quotes'],
    [['run', 'echo', '[]'], 'PAYLOAD is not a JSON object'],
    [['run', 'echo', '--delay=1h', '--at=2031-01-31T09:00:00Z'], 'give --delay or --at, not both'],
    [['run', 'echo', '--delay=soon'], '--delay must be a number and a unit: 500ms, 30s, 10m, 2h or 1d'],
    [['run', 'echo', '--while=waiting'], '--while needs --unique'],
    [['run', 'echo', '--at=2h'], '--at must be an instant such as 2031-01-31T09:00:00Z'],
    [['run', 'echo', '--retries=-1'], '--retries must be a whole number from 0 to 1000'],
  ])('%j is a mistake', async (args, message) => {
    expect(await cli()(args)).toEqual({ code: 2, stdout: '', stderr: `millrace: ${message}\n` });
  });
});

describe('jobs list and get', () => {
  it('shows rows that @1 and shortened ids stand for', async () => {
    const millrace = cli();
    const ids = [await waitingJob('list-1'), await waitingJob('list-1')];
    const { stdout } = await millrace(['jobs', 'list', '--queue=list-1', '--status=pending,running']);
    const rows = rowsOf(stdout);
    expect(rows.map(({ ID, TASK, STATUS, TRIES }) => [ID, TASK, STATUS, TRIES])).toEqual([
      [ids[1], 'resize', 'pending', '0/4'],
      [ids[0], 'resize', 'pending', '0/4'],
    ]);
    for (const name of ['@2', `${ids[0]!.slice(0, 8)}…${ids[0]!.slice(-4)}`]) {
      expect((await millrace(['jobs', 'get', name])).stdout).toMatch(new RegExp(`^id +${ids[0]}\\n`));
    }
    expect(await millrace(['jobs', 'get', '@3'])).toMatchObject({
      code: 2,
      stderr: 'millrace: the last list had 2 rows\n',
    });
    expect(await millrace(['workflows', 'get', '@1'])).toMatchObject({ code: 2 });
  });

  it('--json is the answer of the API', async () => {
    const id = await newJob({ task_name: 'resize', payload: { a: 1 }, config: { queue: 'list-2' } });
    const api = await server.a.get(`/api/v1/jobs/${id}`);
    expect((await cli()(['jobs', 'get', id, '--json'])).stdout).toBe(`${api.text}\n`);
    const page = await server.a.get('/api/v1/jobs?queue=list-2&limit=20');
    expect((await cli()(['jobs', 'list', '--queue=list-2', '--json'])).stdout).toBe(`${page.text}\n`);
  });

  it('--jsonl follows the pages, one job per line as the API has it', async () => {
    const jobs = Array.from({ length: 120 }, (_, n) => ({
      task_name: 'resize',
      payload: { n },
      config: { queue: 'list-3' },
    }));
    await server.a.post('/api/v1/jobs/batch', { jobs });
    const { stdout } = await cli()(['jobs', 'list', '--queue=list-3', '--all', '--jsonl', '--oldest-first']);
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines.map(({ payload }) => payload.n)).toEqual(jobs.map(({ payload }) => payload.n));
    const short = await cli()(['jobs', 'list', '--queue=list-3', '--limit=110']);
    expect(rowsOf(short.stdout)).toHaveLength(110);
    expect(short.stderr).toMatch(/^there are more; add --limit 220, --all, or --cursor \S+\n$/);
    expect((await cli()(['jobs', 'list', '--json', '--all'])).code).toBe(2);
  });

  it('says on standard error that there is nothing', async () => {
    expect(await cli()(['jobs', 'list', '--queue=nothing-here'])).toEqual({ code: 0, stdout: '', stderr: 'no jobs\n' });
  });

  it('--watch shows it again until interrupted', async () => {
    await waitingJob('list-4');
    const interrupt = new AbortController();
    let shown = 0;
    const { code } = await cli()(['jobs', 'list', '--queue=list-4', '--watch', '--interval=100ms'], {
      signal: interrupt.signal,
      onOutput: (text) => text.startsWith('ID') && ++shown === 2 && interrupt.abort(),
    });
    expect([code, shown]).toEqual([130, 2]);
  });

  it('fits into the terminal, and colours only there', async () => {
    const failing = await newJob({ task_name: 'fail', payload: { message: 'x'.repeat(200), permanent: true } });
    const job_ids = [failing, await newJob({ task_name: 'echo' })];
    await until(
      async () => (await server.a.post('/api/v1/jobs/wait', { job_ids, wait_secs: 20 })).body.pending.length === 0,
    );
    const args = ['jobs', 'list', '--limit=5'];
    const wide = await cli()(args);
    const narrow = await cli()(args, { terminal: { stdout: true }, columns: 90, env: { NO_COLOR: '1' } });
    const coloured = await cli()(args, { terminal: { stdout: true }, columns: 90 });
    expect(Math.max(...narrow.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(90);
    // A second may have passed in between.
    const ageless = (text: string): string =>
      text.replaceAll(/ +\d+[smhd] +/g, ' AGE ').replaceAll(/ +AGE +ERROR/g, ' AGE');
    expect(ageless(coloured.stdout.replaceAll(/\u001b\[\d+m/g, ''))).toBe(ageless(narrow.stdout));
    expect(coloured.stdout).not.toBe(narrow.stdout);
    expect(rowsOf(narrow.stdout).map(({ TASK, STATUS }) => [TASK, STATUS])).toEqual(
      rowsOf(wide.stdout).map(({ TASK, STATUS }) => [TASK, STATUS]),
    );
  });
});

describe('jobs create and import', () => {
  it('creates a job from its body', async () => {
    const body = '{"task_name":"resize","payload":{"n":12345678901234567890},"config":{"queue":"create-1"}}';
    const { stdout } = await cli()(['jobs', 'create', '-'], { stdin: `${body}\n` });
    expect((await server.a.get(`/api/v1/jobs/${stdout.trim()}`)).text).toContain(
      '"payload":{"n":12345678901234567890}',
    );
    const keyed = ['jobs', 'create', '{"task_name":"resize","config":{"queue":"create-1"},"idempotency_key":"mine"}'];
    expect((await cli()(keyed)).stdout).toBe((await cli()(keyed)).stdout);
  });

  it('names the fields that the server refuses', async () => {
    const { code, stderr } = await cli()(['jobs', 'create', '{"task_name":"echo","quue":"x"}']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/quue/);
  });

  it('imports lines in batches, once per key, and shows how far it is', async () => {
    const lines = Array.from({ length: 1_500 }, (_, n) =>
      JSON.stringify({ task_name: 'resize', payload: { n }, config: { queue: 'import' } }),
    );
    const millrace = cli();
    const file = join(millrace.home, 'jobs.ndjson');
    writeFileSync(file, `${lines.join('\n')}\n\n`);
    const first = await millrace(['jobs', 'import', file, '--key=night', '--jsonl']);
    const batches = first.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(batches.map(({ count }) => count)).toEqual([1_000, 500]);
    const again = await millrace(['jobs', 'import', file, '--key=night', '--jsonl'], { terminal: { stderr: true } });
    expect(again.stdout).toBe(first.stdout);
    expect(again.stderr).toMatch(/#+-*  \d+ %  1000 jobs/);
    expect(await server.a.get('/api/v1/jobs?queue=import&include_total=true&limit=1')).toMatchObject({
      body: { total: 1_500 },
    });
  });

  it('says which line is wrong, and what had been created', async () => {
    const stdin = ['{"task_name":"resize","config":{"queue":"import-2"}}', '', '[1]'].join('\n');
    expect(await cli()(['jobs', 'import', '-'], { stdin })).toMatchObject({
      code: 2,
      stderr: 'millrace: line 3 is not a JSON object\n',
    });
    expect((await cli()(['jobs', 'import', '/not/there'])).stderr).toBe('millrace: FILE cannot be read\n');
  });
});

describe('jobs wait and watch', () => {
  it('waits for many, and the worst outcome decides', async () => {
    const good = await newJob({ task_name: 'echo' });
    const bad = await newJob({ task_name: 'fail', payload: { permanent: true } });
    const pending = await waitingJob('wait-1');
    const none = '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10';
    const done = await cli()(['jobs', 'wait', '-'], { stdin: `${good}\n${good}\n` });
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(rowsOf(done.stdout)).toEqual([{ ID: good, STATUS: 'completed' }]);
    expect((await cli()(['jobs', 'wait', bad])).code).toBe(3);
    expect((await cli()(['jobs', 'wait', good, bad, pending, '--timeout=0s'])).code).toBe(3);
    expect((await cli()(['jobs', 'wait', good, none])).code).toBe(5);
    const late = await cli()(['jobs', 'wait', good, pending, '--timeout=0s', '--json']);
    expect([late.code, JSON.parse(late.stdout)]).toEqual([
      8,
      { ended: [{ id: good, status: 'completed' }], pending: [pending], missing: [] },
    ]);
    expect((await cli()(['jobs', 'wait', good, pending, '--any'])).code).toBe(0);
  });

  it('follows a job to its end', async () => {
    const id = await newJob({ task_name: 'echo', delay_secs: 3600 });
    const millrace = cli();
    const watching = millrace(['jobs', 'watch', id], {
      onOutput: (text) => text.includes('pending') && void millrace(['jobs', 'run-now', id]),
    });
    const { code, stdout } = await watching;
    expect(code).toBe(0);
    expect(stdout).toMatch(/ {2}pending\n[^]* {2}completed {2}attempt 1\n$/);
    const again = await millrace(['jobs', 'watch', id, '--jsonl']);
    expect(JSON.parse(again.stdout)).toMatchObject({ id, status: 'completed' });
  });
});

describe('jobs cancel', () => {
  it('cancels one job', async () => {
    const id = await waitingJob('cancel-1');
    expect(await cli()(['jobs', 'cancel', id])).toEqual({ code: 0, stdout: `cancelled ${id}\n`, stderr: '' });
    const again = await cli()(['jobs', 'cancel', id]);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain('already');
  });

  it('says how many it would cancel, and asks', async () => {
    const ids = [await waitingJob('cancel-2'), await waitingJob('cancel-2')];
    const args = ['jobs', 'cancel', '--queue=cancel-2'];
    const dry = await cli()([...args, '--dry-run']);
    expect(dry.stdout).toMatch(/^would cancel 2 jobs\nID/);
    const piped = await cli()(args);
    expect(piped).toMatchObject({ code: 2, stderr: 'millrace: This will cancel 2 jobs. Add --yes to do so\n' });
    const terminal = { stdin: true, stderr: true };
    const no = await cli()(args, { terminal, stdin: 'n\n' });
    expect(no).toMatchObject({ code: 1, stdout: '', stderr: 'This will cancel 2 jobs. [y/N] nothing was changed\n' });
    expect((await server.a.get(`/api/v1/jobs/${ids[0]}`)).body.status).toBe('pending');
    const yes = await cli()(args, { terminal, stdin: 'y\n' });
    expect(yes).toMatchObject({ code: 0, stdout: 'cancelled 2 jobs\n' });
    expect((await server.a.get(`/api/v1/jobs/${ids[1]}`)).body.status).toBe('cancelled');
    expect(await cli()(args)).toMatchObject({ code: 0, stdout: 'there is nothing to cancel\n' });
  });

  it('takes several ids, and leaves the work to the server if told so', async () => {
    const millrace = cli();
    const ids = [await waitingJob('cancel-3'), await waitingJob('cancel-3')];
    const { stdout } = await millrace(['jobs', 'cancel', ...ids, '--yes', '--no-wait']);
    expect(stdout).toMatch(/^\S{36}\n$/);
    expect(await millrace(['operations', 'watch', '@last'])).toMatchObject({ code: 0, stdout: 'cancelled 2 jobs\n' });
    const [row] = rowsOf((await millrace(['operations', 'list'])).stdout);
    expect(row).toMatchObject({ ACTION: 'cancel_jobs', STATUS: 'completed', CHANGED: '2' });
    expect((await millrace(['operations', 'get', '@1'])).stdout).toMatch(/^id +\S{36}\naction +cancel_jobs\n/);
    const stopped = await millrace(['operations', 'stop', '@1']);
    expect([stopped.code, stopped.stderr]).toEqual([1, 'millrace: the operation is already completed\n']);
  });

  it('never takes no filter for all', async () => {
    expect((await cli()(['jobs', 'cancel', '--yes'])).stderr).toBe(
      'millrace: which jobs to cancel? Give ids, or a filter such as --queue\n',
    );
  });
});

describe('the rest of jobs', () => {
  it('reruns, explains and shows attempts', async () => {
    const millrace = cli();
    const { stdout: id } = await millrace(['run', 'fail', '{"message":"boom","permanent":true}']);
    await millrace(['jobs', 'wait', '@last']);
    const attempts = await millrace(['jobs', 'attempts', '@last']);
    expect(rowsOf(attempts.stdout)[0]).toMatchObject({ NUMBER: '1', OUTCOME: 'failed', ERROR: 'boom' });
    expect((await millrace(['jobs', 'attempts', '@last', '--stacks'])).stdout).toContain(
      'attempt 1:\n  PermanentError: boom',
    );
    expect((await millrace(['jobs', 'why', '@last'])).stdout).toMatch(/^The job failed/);
    const { stdout: copy } = await millrace(['jobs', 'rerun', '@last']);
    expect((await server.a.get(`/api/v1/jobs/${copy.trim()}`)).body.metadata.rerun_of).toBe(id.trim());
    expect(JSON.parse((await millrace(['jobs', 'why', '@last', '--json'])).stdout)).toHaveProperty('reason');
  });
});

describe('what a tenant wrote', () => {
  const ESCAPES = /[\p{Cc}\p{Bidi_Control}]/u;
  const message = 'no\u009b31m \u202edrac\u001b[2J';

  it('does not act on a terminal, in words or as JSON of the same value', async () => {
    const millrace = cli();
    const onTerminal = { terminal: { stdout: true }, columns: 500, env: { NO_COLOR: '1' } };
    const payload = JSON.stringify({ message, permanent: true }).replaceAll(/\\u([0-9a-f]{4})/g, '\\u$1');
    await millrace(['run', 'fail', payload, '--wait']);
    for (const words of [
      ['jobs', 'list', '--limit=1'],
      ['jobs', 'get', '@last'],
      ['dlq', 'list'],
    ]) {
      for (const call of [{}, onTerminal]) {
        const { stdout } = await millrace(words, call);
        expect(stdout.replaceAll('\n', '')).not.toMatch(ESCAPES);
        expect(stdout).toContain('no\\u009b31m \\u202edrac\\u001b[2J');
      }
    }
    const shown = (await millrace(['jobs', 'get', '@last', '--json'], onTerminal)).stdout;
    const sent = (await millrace(['jobs', 'get', '@last', '--json'])).stdout;
    expect(shown.replaceAll('\n', '')).not.toMatch(ESCAPES);
    expect(sent).toContain('\u009b');
    expect(JSON.parse(shown)).toEqual(JSON.parse(sent));
    expect(JSON.parse(shown)).toMatchObject({ error_message: message });

    await millrace(['run', 'paint\u009b', '--queue=night\u202e']);
    const why = await millrace(['jobs', 'why', '@last'], onTerminal);
    expect(why.stdout).toContain('night\\u202e');
    expect(why.stdout.trimEnd()).not.toMatch(ESCAPES);
  });
});

describe('what a script can rely on', () => {
  it('exits with 4 without access and with 5 for what is not there', async () => {
    const id = await waitingJob('codes');
    expect(await newCli(server.url, 'wrong-token-of-nobody')(['jobs', 'list'])).toMatchObject({ code: 4, stdout: '' });
    expect((await newCli(server.url, KEY_B)(['jobs', 'get', id])).code).toBe(4);
    expect(await cli()(['jobs', 'get', 'nope'])).toMatchObject({ code: 5, stdout: '' });
  });

  it('exits with 1 where nobody answers, and shows no secret', async () => {
    const token = 'hush-hush-hush-hush';
    const { code, stdout, stderr } = await newCli('http://user:pass-word@127.0.0.1:1', token)(['jobs', 'get', token]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('is a server running there?');
    expect(stderr).not.toMatch(/hush|pass-word/);
  });
});
