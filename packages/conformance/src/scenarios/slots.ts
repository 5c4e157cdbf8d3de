import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage/stage.js';
import type { Subject } from '../stage/subject.js';
import { check, PATIENCE_MS, until, watch } from '../stage/violation.js';

/** Long enough for a worker that runs too many to be seen at it, on a slow machine. */
const SLEEP_MS = 500;
const IDLE_MS = 10_000;
const IDLE_LEASES = 10;

/** The most tasks that were between `started` and `finished` at one instant. */
function mostAtOnce(subjects: readonly Subject[]): number {
  const changes = subjects.flatMap((subject) => [
    ...subject.beacons('started').map(({ at }) => ({ at, by: 1 })),
    ...subject.beacons('finished').map(({ at }) => ({ at, by: -1 })),
  ]);
  let running = 0;
  let most = 0;
  for (const { by } of changes.sort((one, other) => one.at - other.at || one.by - other.by)) {
    running += by;
    most = Math.max(most, running);
  }
  return most;
}

/** As many sleeps as the worker runs at a time, all of them started. */
async function fill(stage: Stage, ms: number): Promise<Subject[]> {
  stage.startWorker();
  const subjects = await stage.createMany(stage.concurrency, 'conf.sleep', { ms });
  await Promise.all(subjects.map((subject) => subject.seen('started')));
  return subjects;
}

export const SLOTS: readonly Scenario[] = [
  {
    number: 7,
    title: '10 × C sleeps',
    passes: 'never more than C between `started` and `finished`; C is reached',
    seconds: 8,
    async run(stage) {
      const subjects = await stage.createMany(10 * stage.concurrency, 'conf.sleep', { ms: SLEEP_MS });
      stage.startWorker();
      await Promise.all(subjects.map((subject) => subject.reaches('completed', 4 * PATIENCE_MS)));
      const most = mostAtOnce(subjects);
      check(most <= stage.concurrency, `${most} ran at once`);
      check(most === stage.concurrency, `at most ${most} ran at once`);
    },
  },
  {
    number: 8,
    title: 'C sleeps run',
    passes: 'no lease call until one has ended',
    seconds: 3,
    async run(stage) {
      const subjects = await fill(stage, 2_000);
      const full = Math.max(...subjects.map((subject) => subject.beacons('started')[0]?.at ?? 0));
      const ended = await until('one ends', () => subjects.flatMap((subject) => subject.beacons('finished'))[0]);
      await watch(100);
      const early = stage.proxy.leases().filter(({ at }) => at > full && at < ended.at).length;
      check(early === 0, `${early} lease calls while every slot was taken`);
      const most = Math.max(...stage.proxy.leases().map((call) => askedFor(call.body)));
      check(most <= stage.concurrency, `asked for ${most} jobs with ${stage.concurrency} slots`);
    },
  },
  {
    number: 9,
    title: 'an empty queue for 10 s',
    passes: 'at most 10 lease calls, each with wait_secs above 0',
    seconds: 11,
    async run(stage) {
      stage.startWorker();
      await until('a lease call', () => stage.proxy.leases()[0]);
      await watch(IDLE_MS);
      const leases = stage.proxy.leases();
      check(leases.length <= IDLE_LEASES, `${leases.length} lease calls in ten seconds`);
      const hasty = leases.filter(({ body }) => !(Number(field(body, 'wait_secs')) > 0)).length;
      check(hasty === 0, `${hasty} lease calls without wait_secs`);
    },
  },
  {
    number: 12,
    title: 'C long sleeps',
    passes: 'every token is heartbeaten',
    seconds: 5,
    async run(stage) {
      const subjects = await fill(stage, 2 * stage.leaseMs);
      await Promise.all(subjects.map((subject) => subject.reaches('completed', 2 * stage.leaseMs + PATIENCE_MS)));
      const silent = subjects.filter((subject) =>
        subject.deliveries().some(({ token }) => !subject.heartbeats().some((beat) => beat.token === token)),
      ).length;
      check(silent === 0, `${silent} of ${subjects.length} jobs were never heartbeaten`);
    },
  },
];

function field(body: string, name: string): unknown {
  try {
    return (JSON.parse(body) as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

const askedFor = (body: string): number => Number(field(body, 'max_jobs') ?? 1);
