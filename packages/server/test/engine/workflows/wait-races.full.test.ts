import { afterAll, describe, expect, it } from 'vitest';
import { controlClock } from '../../support/clock.js';
import { createClient } from '../../support/client.js';
import { cloneDatabase } from '../../support/database.js';
import { KEY_A, startTestServer } from '../../support/server.js';
import { until } from '../../support/until.js';
import { violationsIn } from '../../support/violations.js';
import { startAnotherServer } from '../another-server.js';
import { SWEEP_OFTEN } from '../kit.js';
import { ok, TERMINAL, workflowsOf } from './kit.js';

/** A signal to a waiting step against whatever else may end it, through two processes: one of the two counts. */
const database = await cloneDatabase();
const clock = await controlClock(database);
// Deadlines come when the test says so, not while this machine is held up.
await clock.freeze();
const server = await startTestServer({ database, config: { mode: 'api' }, intervals: SWEEP_OFTEN });
const other = await startAnotherServer(database, { mode: 'api' }, {}, SWEEP_OFTEN);
const { a } = server;
const a2 = createClient(other.apiUrl!, KEY_A);
const workflows = workflowsOf(a);
afterAll(async () => {
  await other.stop();
  await server.stop();
  await database.drop();
});

const ROUNDS = 25;
const wait = (fields: object = {}): object => ({ name: 'w', wait: { signal: 's', timeout_secs: 60, ...fields } });
const signal = (id: string, client = a2) => client.post(`/api/v1/workflows/${id}/signals/s`, { value: { by: id } });
const ended = (id: string): Promise<any> =>
  until(async () => {
    const workflow = await workflows.get(id);
    return TERMINAL.includes(workflow.status) ? workflow : `it is ${workflow.status}`;
  });
const sound = async (): Promise<void> => expect(await violationsIn(database)).toEqual([]);
/** So that neither is always the first. */
const inTurn = <T>(round: number, one: () => Promise<T>, two: () => Promise<T>): Promise<[T, T]> =>
  round % 2 ? Promise.all([one(), two()]) : Promise.all([two(), one()]).then(([second, first]) => [first, second]);

describe('a signal', () => {
  it('against the deadline: its value, or the time-out, and the sender is told which', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const ids = await Promise.all(
        Array.from({ length: 4 }, (_, n) => workflows.create([wait(n % 2 ? { on_timeout: 'continue' } : {})])),
      );
      const [, replies] = await inTurn<unknown>(
        round,
        () => clock.advance(61),
        () => Promise.all(ids.map((id) => signal(id))),
      );
      for (const [n, id] of ids.entries()) {
        const { status, body } = (replies as Awaited<ReturnType<typeof signal>>[])[n]!;
        const { status: end, context } = await ended(id);
        if (status === 202 && body.delivered) expect([end, context.w]).toEqual(['completed', { by: id }]);
        else if (n % 2) expect([end, context.w]).toEqual(['completed', { timed_out: true }]);
        else expect(end).toBe('failed');
        if (status !== 202) expect(body.code).toBe('already_finished');
      }
    }
    await sound();
  });

  it('against a cancel: the workflow ends once, with the value or without', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await workflows.create([wait(), { name: 'after', task_name: 't', depends_on: ['w'] }]);
      const [cancelled, sent] = await inTurn(
        round,
        () => a.post(`/api/v1/workflows/${id}/cancel`),
        () => signal(id),
      );
      ok(cancelled);
      expect([202, 409]).toContain(sent.status);
      expect((await ended(id)).status).toBe('cancelled');
      expect(Object.values(await workflows.statuses(id))).toEqual([expect.any(String), 'cancelled']);
    }
    await sound();
  });

  it('against a resume: it is taken by the new wait, or refused because the workflow had ended', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await workflows.create([wait()]);
      await workflows.cancel(id);
      const [resumed, sent] = await inTurn(
        round,
        () => a.post(`/api/v1/workflows/${id}/resume`, {}),
        () => signal(id),
      );
      ok(resumed);
      if (sent.status === 409) {
        expect(await workflows.statuses(id)).toEqual({ w: 'running' });
        expect(ok(await signal(id)).body).toEqual({ delivered: true });
      } else expect(sent.status, sent.text).toBe(202);
      expect(await ended(id)).toMatchObject({ status: 'completed', context: { w: { by: id } } });
    }
    await sound();
  });

  it('against another: one of them is the value, the other is kept until the workflow ends', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const id = await workflows.create([wait()]);
      const replies = await Promise.all([signal(id, a), signal(id, a2)]);
      expect(replies.filter(({ status, body }) => status === 202 && body.delivered)).toHaveLength(1);
      expect((await ended(id)).status).toBe('completed');
    }
    await sound();
  });
});
