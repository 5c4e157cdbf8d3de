import type { Scenario } from '../scenario.js';
import { check, PATIENCE_MS, until } from '../stage/violation.js';

/** The longest time between two sweeps for expired leases. */
const SWEEP_MS = 5_000;
/** Long enough for the other worker to start meanwhile. */
const SLEEP_MS = 5_000;

export const CRASH: readonly Scenario[] = [
  {
    number: 29,
    title: 'SIGKILL of one of two workers',
    passes: 'its jobs complete at the other after L + 5 s and a backoff',
    seconds: 20,
    async run(stage) {
      const other = await stage.anotherProxy();
      const victim = stage.startWorker();
      const subjects = await stage.createMany(stage.concurrency, 'conf.sleep', { ms: SLEEP_MS });
      await Promise.all(subjects.map((subject) => until('the job starts', () => subject.beacons('started')[0])));
      stage.startWorker({ through: other });
      await until('the other worker polls', () => other.leases()[0]);
      await victim.kill();
      const held = subjects.filter((subject) => !subject.reports().some(({ status }) => status === 204));
      check(held.length > 0, 'the worker had already ended every job');
      const withinMs = stage.leaseMs + SWEEP_MS + stage.concurrency * SLEEP_MS + PATIENCE_MS;
      await Promise.all(subjects.map((subject) => subject.reaches('completed', withinMs)));
      const elsewhere = new Set(other.leased().map(({ id }) => id));
      const missing = held.filter((subject) => !elsewhere.has(subject.id)).length;
      check(missing === 0, `${missing} of its jobs did not run at the other worker`);
    },
  },
];
