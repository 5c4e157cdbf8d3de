import { describe, expect, it } from 'vitest';
import { freshTask, gate, pathOf, until, useWorkerKit } from '../support/worker-kit.js';

describe('what handlers write', async () => {
  const { millrace, start } = await useWorkerKit();

  it('is kept with the attempt, and comes with its report', async () => {
    const write = freshTask('write', { retries: { delay: '0s', jitter: 0 } });
    const { calls } = start([
      write.handle((_, { log, job }) => {
        log.info('charged', { charge: `ch_${job.attempt}` });
        log.debug('in detail');
        if (job.attempt === 1) throw new Error('later');
      }),
    ]);
    const job = await millrace.enqueue(write);
    await job.result();
    const { lines, omitted, next } = await millrace.jobs.logs(job.id);
    expect(lines.map(({ attempt, seq, level, message, fields }) => [attempt, seq, level, message, fields])).toEqual([
      [1, 1, 'info', 'charged', { charge: 'ch_1' }],
      [1, 2, 'debug', 'in detail', {}],
      [2, 1, 'info', 'charged', { charge: 'ch_2' }],
      [2, 2, 'debug', 'in detail', {}],
    ]);
    expect([omitted, next]).toEqual([0, null]);
    expect(calls).not.toContain('/heartbeats');
  });

  it('can be followed while the handler runs', async () => {
    const write = freshTask('write');
    const { open, opened } = gate();
    start([
      write.handle(async (_, { log }) => {
        log.info('begun');
        await opened;
        log.warn('done');
      }),
    ]);
    const job = await millrace.enqueue(write);
    const seen: string[] = [];
    for await (const { message } of millrace.jobs.followLogs(job.id)) {
      seen.push(message);
      if (message === 'begun') open();
    }
    expect(seen).toEqual(['begun', 'done']);
  });

  it('is sent again, with the report at the latest, if a heartbeat is not answered', async () => {
    const write = freshTask('write');
    const { open, opened } = gate();
    let failed = 0;
    start([write.handle(async (_, { log }) => (log.info('once'), await opened, {}))], {
      fetch: (input, init) => {
        if (!pathOf(input).endsWith('/heartbeats')) return globalThis.fetch(input, init);
        failed++;
        return Promise.reject(new TypeError('no connection'));
      },
    });
    const job = await millrace.enqueue(write);
    await until(() => failed > 0);
    open();
    await job.result();
    expect((await millrace.jobs.logs(job.id)).lines.map(({ message }) => message)).toEqual(['once']);
  });

  it('stays here if the worker is told so, and costs nothing if nothing is written', async () => {
    const write = freshTask('write');
    const bodies: string[] = [];
    start([write.handle((_, { log }) => log.info('mine'))], {
      logs: 'local',
      fetch: (input, init) => {
        if (pathOf(input).endsWith('/reports')) bodies.push(init?.body as string);
        return globalThis.fetch(input, init);
      },
    });
    const job = await millrace.enqueue(write);
    await job.result();
    expect(bodies.join()).not.toContain('logs');
    expect((await millrace.jobs.logs(job.id)).lines).toEqual([]);
  });

  it('never costs a report on a server that knows nothing of it', async () => {
    const write = freshTask('write');
    start([write.handle((_, { log }) => log.info('unwanted'))], {
      fetch: async (input, init) => {
        const answer = await globalThis.fetch(input, init);
        if (!pathOf(input).endsWith('/whoami')) return answer;
        const body = (await answer.json()) as { features: string[] };
        return Response.json({ ...body, features: body.features.filter((word) => word !== 'logs') });
      },
    });
    const job = await millrace.enqueue(write);
    await job.result();
    expect((await millrace.jobs.logs(job.id)).lines).toEqual([]);
  });
});
