import { AuthError, Millrace, silentLogger } from '@millrace/sdk';
import { describe, expect, it } from 'vitest';
import { ADMIN_TOKEN, beating, freshTask, gate, pathOf, until, useWorkerKit } from '../support/worker-kit.js';

describe('a worker', async () => {
  const { millrace, server, start } = await useWorkerKit();

  it('says how many jobs of a queue it can hold, and which tasks it knows', async () => {
    const known = freshTask('known');
    const { open, opened } = gate();
    start([known.handle(() => opened)], { name: 'offerer' });
    const job = await millrace.enqueue(known);
    const worker = await until(async () =>
      (await millrace.queues.workers()).find(
        ({ queue, slots, running }) => queue === known.queue && slots !== null && running > 0,
      ),
    );
    expect(worker).toMatchObject({ id: 'offerer', slots: 4, tasks: ['known'] });
    open();
    await job.result();
  });

  it('gets no job of a queue while an operator has paused it', async () => {
    const held = freshTask('held');
    const operator = new Millrace({ url: server.url, token: ADMIN_TOKEN, logger: silentLogger });
    await operator.queues.pause(held.queue);
    const job = await millrace.enqueue(held);
    const { calls } = start([held.handle(() => ({ ran: true }))], { poll: '1s' });
    // An answer to a poll that came in vain.
    await until(() => calls.filter((path) => path.endsWith('/lease')).length > 1);
    expect((await job.get()).status).toBe('pending');
    expect((await millrace.queues.get(held.queue)).pausedAt).toBeInstanceOf(Date);
    await operator.queues.resume(held.queue);
    expect(await job.result()).toEqual({ ran: true });
    expect((await millrace.queues.get(held.queue)).pausedAt).toBeNull();
    await expect(millrace.queues.pause(held.queue)).rejects.toBeInstanceOf(AuthError);
  });

  it('offers nothing to a server that refuses offers', async () => {
    const known = freshTask('known');
    start([known.handle(() => ({}))], {
      fetch: (input, init) =>
        pathOf(input).endsWith('/lease') && (init?.body as string).includes('slots')
          ? Promise.resolve(Response.json({ error: 'slots', code: 'invalid_request', timestamp: '' }, { status: 400 }))
          : globalThis.fetch(input, init),
    });
    expect(await (await millrace.enqueue(known)).result()).toEqual({});
  });

  it('believes the answer to its report rather than a heartbeat that the report overtook', async () => {
    const quick = freshTask('quick', { retries: { delay: '1h' } });
    const { open, opened } = gate();
    let taken = false;
    const { handler, beat } = beating(quick, () => Promise.reject(new Error('tried again later')));
    const { events, worker } = start([handler], {
      fetch: async (input, init) => {
        const answer = await globalThis.fetch(input, init);
        // The server has taken the report; its answer arrives after heartbeats have said that the lease is gone.
        if (pathOf(input).endsWith('/reports')) {
          taken = true;
          beat();
          await opened;
        } else if (pathOf(input).endsWith('/heartbeats') && taken) setTimeout(open, 50);
        return answer;
      },
    });
    await millrace.enqueue(quick);
    await until(() => events.some(({ type }) => type === 'failed' || type === 'lease_lost'));
    expect(events.map(({ type }) => type)).not.toContain('lease_lost');
    expect(worker.health.held).toBe(0);
  });
});
