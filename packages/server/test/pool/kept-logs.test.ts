import { describe, expect, it } from 'vitest';
import type { Handlers } from '../../src/index.js';
import { createJob, NEWS_ALONE, waitFor } from '../engine/kit.js';
import { useTestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** What handlers inside the server write is kept with their attempt, beside going to the log of the server. */
let release: () => void = () => undefined;
const handlers: Handlers = {
  talks: (_payload, { log }) => {
    log.debug('at first');
    log.info({ charge: 'ch_1', n: 3 }, 'charged %s', 'the card');
    log.child({ part: 'mail' }).error('no mail');
    log.fatal('at postgres://me:hunter2@host/db');
    return {};
  },
  fails: (_payload, { log, job }) => {
    log.warn(`attempt ${job.attempt}`);
    if (job.attempt < 3) throw new Error('again');
    return {};
  },
  silent: () => ({}),
  slow: async (_payload, { log }) => {
    log.info('begun');
    await new Promise<void>((resolve) => (release = resolve));
    log.info('done');
  },
  many: (_payload, { log }) => {
    for (let n = 1; n <= 500; n++) log.info(`line ${n}`);
  },
  each: ({ n }, { log }) => log.info(`of ${n as number}`),
};
const server = await useTestServer({ handlers, config: { workers: 4 }, intervals: NEWS_ALONE });
const { a, database } = server;

const run = (task_name: string, payload: object = {}): Promise<string> =>
  createJob(a, 'default', { task_name, payload, config: { backoff: 'fixed', retry_delay_secs: 0 } });
const logsOf = async (id: string): Promise<any> => (await a.get(`/api/v1/jobs/${id}/logs`)).body;
const said = async (id: string): Promise<string[]> => (await logsOf(id)).lines.map((line: any) => line.message);

describe('what a handler in the server writes', () => {
  it('is there when the job has ended, with its levels and fields, and free of secrets', async () => {
    const id = await run('talks');
    await waitFor(a, id, 'completed');
    const { lines } = await logsOf(id);
    expect(lines.map(({ level, message }: any) => [level, message])).toEqual([
      ['debug', 'at first'],
      ['info', 'charged the card'],
      ['error', 'no mail'],
      ['error', expect.stringContaining('at postgres://me:')],
    ]);
    expect(lines[1].fields).toMatchObject({ charge: 'ch_1', n: 3 });
    expect(lines[2].fields).toMatchObject({ part: 'mail' });
    expect(JSON.stringify(lines)).not.toContain('hunter2');
    expect(server.log().filter(({ msg }) => msg === 'no mail')).toHaveLength(1);
  });

  it('is kept of every attempt, those that failed included', async () => {
    const id = await run('fails');
    await waitFor(a, id, 'completed');
    const { lines } = await logsOf(id);
    expect(lines.map(({ attempt, message }: any) => [attempt, message])).toEqual([
      [1, 'attempt 1'],
      [2, 'attempt 2'],
      [3, 'attempt 3'],
    ]);
  });

  it('can be read while the job runs', async () => {
    const id = await run('slow');
    await until(async () => (await said(id)).length === 1, { what: 'the first line' });
    expect(await said(id)).toEqual(['begun']);
    release();
    await waitFor(a, id, 'completed');
    expect(await said(id)).toEqual(['begun', 'done']);
  });

  it('belongs to its own job, many at a time', async () => {
    const { body } = await a.post('/api/v1/jobs/batch', {
      jobs: Array.from({ length: 50 }, (_, n) => ({ task_name: 'each', payload: { n } })),
    });
    for (const [n, id] of (body.job_ids as string[]).entries()) {
      await waitFor(a, id, 'completed');
      expect(await said(id)).toEqual([`of ${n}`]);
    }
  });

  it('is bounded, and tells what was left out', async () => {
    const id = await run('many');
    await waitFor(a, id, 'completed');
    const lines = await said(id);
    expect([lines[0], lines.at(-1)]).toEqual(['line 1', 'line 500']);
    const [left] = lines.flatMap((line) => /^(\d+) lines were left out here$/.exec(line)?.slice(1) ?? []);
    expect(lines.length - 1 + Number(left)).toBe(500);
  });

  it('costs a handler that writes nothing nothing', async () => {
    const id = await run('silent');
    await waitFor(a, id, 'completed');
    expect(await logsOf(id)).toEqual({ lines: [], omitted: 0 });
    expect(await database.query('SELECT FROM millrace.log_totals WHERE job_id = $1', [id])).toEqual([]);
  });
});
