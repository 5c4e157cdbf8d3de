import type { RefusalStatus } from '../proxy/rules.js';
import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage/stage.js';
import type { Subject } from '../stage/subject.js';
import { check, watch } from '../stage/violation.js';

/** Longer than any of these scenarios watches. */
export const LONG_MS = 60_000;

export async function startedSleep(stage: Stage, ms = LONG_MS): Promise<Subject> {
  const subject = await stage.create('conf.sleep', { ms });
  await subject.seen('started');
  return subject;
}

/** The task is told to stop within L, and no report on it follows. */
async function expectAbort(stage: Stage, subject: Subject): Promise<void> {
  // Half a second more for the machine: a heartbeat may be due only at the very end of L.
  await subject.seen('aborted', stage.leaseMs + 500);
  await watch(stage.leaseMs);
  check(subject.reports().length === 0, `${subject.reports().length} reports on a job that was taken away`);
}

const refusedHeartbeat = (number: number, status: RefusalStatus): Scenario => ({
  number,
  title: `a heartbeat answered ${status}`,
  passes: 'aborted; no report',
  seconds: 5,
  async run(stage) {
    stage.startWorker();
    const subject = await startedSleep(stage);
    stage.proxy.addRule(({ kind }) =>
      kind === 'heartbeat' ? { do: 'refuse', status, items: ({ jobId }) => jobId === subject.id } : undefined,
    );
    await expectAbort(stage, subject);
  },
});

export const ABORTS: readonly Scenario[] = [
  {
    number: 13,
    title: 'cancel while running',
    passes: '`aborted` within L; no report on it afterwards',
    seconds: 5,
    async run(stage) {
      stage.startWorker();
      const subject = await startedSleep(stage);
      await subject.cancel();
      await expectAbort(stage, subject);
    },
  },
  refusedHeartbeat(14, 409),
  refusedHeartbeat(15, 404),
];
