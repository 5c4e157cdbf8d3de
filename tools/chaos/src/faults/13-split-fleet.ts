import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';
import type { ServerProcess } from '../stage/server.js';
import { watchEvents, type SeenEvent } from '../support/event-stream.js';

const WAKE_UP_MS = 1_000;
const EVENT_MS = 500;

/** A fleet in which no process does everything: what one learns must reach those who wait or watch at another. */
export const splitFleet: Fault = {
  row: 13,
  name: 'two api and three worker processes',
  check: 'events and wake-ups cross processes',
  unit: 'rounds',
  full: 20,
  everyday: 3,
  async run(stage, count) {
    const database = await stage.database();
    const start = (mode: 'api' | 'worker'): Promise<ServerProcess> => stage.server({ database, mode });
    const [apiOne, apiTwo] = await Promise.all([start('api'), start('api')]);
    await Promise.all([start('worker'), start('worker'), start('worker')]);
    for (let round = 1; round <= count; round++) {
      const [here, there] = round % 2 === 0 ? [apiOne, apiTwo] : [apiTwo, apiOne];
      await wakesUp(stage, here, there);
      await shows(stage, here, there);
    }
    await stage.drained(database);
  },
};

/** A job created through one process goes at once to a long poll at another. */
async function wakesUp(stage: Stage, here: ServerProcess, there: ServerProcess): Promise<void> {
  const waiting = stage.client(there).lease('remote', { wait: 20 });
  await stage.sleep(stage.random.between(50, 300));
  const createdAt = performance.now();
  await stage.client(here).create('work', { config: { queue: 'remote', ...QUICK } });
  const [job] = await waiting;
  stage.expectWithin(WAKE_UP_MS, performance.now() - createdAt, 'a long poll at another process was woken');
  if (job) await stage.client(there).complete(job.id, job.token);
}

/** Watched at one api process, created at the other, run by one of the worker processes. */
async function shows(stage: Stage, here: ServerProcess, there: ServerProcess): Promise<void> {
  const client = stage.client(here);
  const { body } = await client.create('sleep', { payload: { duration_ms: 100 }, delay_secs: 3_600, config: QUICK });
  const id = String(body.job_id);
  // Whoever follows a job sees each of its states, but only from then on.
  const runNow = (): void => void client.send('other', 'POST', `/api/v1/jobs/${id}/run-now`);
  const events = await watchEvents(there.url, id, AbortSignal.timeout(120_000), runNow);
  // That it is due now is news too, of the same state.
  const states = events.map(({ status }) => status);
  const seen = states.filter((status, n) => status !== states[n - 1]).join(', ');
  stage.expect(seen === 'pending, running, completed', `the events of a job were: ${seen}`);
  stage.expectWithin(100 + EVENT_MS, spanMs(events, 'running', 'completed'), 'the end of a job was shown');
}

function spanMs(events: readonly SeenEvent[], from: string, to: string): number {
  const at = (status: string): number => events.find((event) => event.status === status)?.at ?? Number.NaN;
  return at(to) - at(from);
}
