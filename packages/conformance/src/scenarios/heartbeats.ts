import type { Scenario } from '../scenario.js';
import { first } from '../proxy/rules.js';
import type { Stage } from '../stage/stage.js';
import type { Subject } from '../stage/subject.js';
import { check, PATIENCE_MS, seconds } from '../stage/violation.js';

const HOUR_MS = 3_600_000;

/** The longest stretch in which a lease was not extended: from the claim over the heartbeats to the report. */
function longestGap(subject: Subject): number {
  const start = subject.deliveries()[0]?.at ?? 0;
  const end = subject.reports()[0]?.at ?? performance.now();
  const beats = subject
    .heartbeats()
    .map(({ at }) => at)
    .filter((at) => at < end);
  const instants = [start, ...beats, end];
  return Math.max(...instants.slice(1).map((at, index) => at - (instants[index] ?? at)));
}

function checkGaps(subject: Subject, allowedMs: number): void {
  check(subject.deliveries().length === 1, `${subject.deliveries().length} deliveries`);
  const gap = longestGap(subject);
  check(gap <= allowedMs, `${seconds(gap)} without a heartbeat; ${seconds(allowedMs)} are allowed`);
}

/** A job of three leases is kept by heartbeats alone. */
async function outlastLease(stage: Stage): Promise<void> {
  const subject = await stage.create('conf.sleep', { ms: 3 * stage.leaseMs });
  await subject.reaches('completed', 3 * stage.leaseMs + PATIENCE_MS);
  checkGaps(subject, 0.6 * stage.leaseMs);
  const beats = subject.heartbeats().length;
  check(beats >= 4, `${beats} heartbeats`);
}

export const HEARTBEATS: readonly Scenario[] = [
  {
    number: 10,
    title: 'a sleep of 3 L',
    passes: 'one delivery, at least 4 heartbeats, gaps of at most 0.6 L',
    seconds: 8,
    async run(stage) {
      stage.startWorker();
      await outlastLease(stage);
    },
  },
  {
    number: 11,
    title: 'a task that blocks for 2 L',
    passes: 'one delivery, gaps of at most 0.9 L',
    seconds: 6,
    async run(stage) {
      stage.startWorker();
      const subject = await stage.create('conf.block', { ms: 2 * stage.leaseMs });
      await subject.reaches('completed', 2 * stage.leaseMs + PATIENCE_MS);
      checkGaps(subject, 0.9 * stage.leaseMs);
    },
  },
  {
    number: 16,
    title: 'two heartbeats dropped',
    passes: 'repeated within 2 s; completes under the same token',
    seconds: 8,
    async run(stage) {
      stage.proxy.addRule(first(2, ({ kind }) => kind === 'heartbeat', { do: 'drop' }));
      stage.startWorker();
      const subject = await stage.create('conf.sleep', { ms: 3 * stage.leaseMs });
      await subject.reaches('completed', 3 * stage.leaseMs + PATIENCE_MS);
      const dropped = subject.heartbeats().filter(({ status }) => status === null);
      check(dropped.length >= 2, `${dropped.length} heartbeats were there to drop`);
      for (const beat of dropped) {
        const next = subject.heartbeats().find(({ at }) => at > beat.at);
        check(
          next !== undefined && next.at - beat.at <= 2_000,
          'a heartbeat without an answer was not repeated in 2 s',
        );
      }
      const tokens = new Set(subject.reports().map(({ token }) => token));
      check(tokens.size === 1 && subject.deliveries().length === 1, `${subject.deliveries().length} deliveries`);
    },
  },
  {
    number: 34,
    title: 'a clock an hour behind, then ahead',
    passes: 'as 10',
    seconds: 16,
    async run(stage) {
      // To the worker, a server whose clock is ahead and a clock of its own that is behind are the same.
      stage.proxy.moveClock(HOUR_MS);
      const worker = stage.startWorker();
      await outlastLease(stage);
      await worker.kill();
      stage.proxy.moveClock(-HOUR_MS);
      stage.startWorker();
      await outlastLease(stage);
    },
  },
];
