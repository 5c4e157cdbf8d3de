import { member } from '../exact-json.js';
import type { Item } from '../proxy/calls.js';
import type { Scenario } from '../scenario.js';
import { check, seconds, until, watch } from '../stage/violation.js';
import { LONG_MS, startedSleep } from './aborts.js';

/** A lease call that was already on its way when the signal was sent. */
const ON_ITS_WAY_MS = 100;

/** Given back: released, or failed in a way that lets another worker try. */
const isGivenBack = (item: Item): boolean =>
  item.kind === 'release' || (item.kind === 'fail' && member(item.fields, 'retryable') !== false);

export const SHUTDOWN: readonly Scenario[] = [
  {
    number: 25,
    title: 'SIGTERM while a sleep of L runs, S = 3 L',
    passes: 'no lease call after the open poll; heartbeats go on; completed; exit 0',
    seconds: 4,
    async run(stage) {
      const worker = stage.startWorker({ shutdownSecs: 3 * stage.leaseSecs });
      const subject = await startedSleep(stage, stage.leaseMs);
      await watch(stage.leaseMs / 10);
      const signalled = performance.now();
      worker.signal('SIGTERM');
      const end = await until('the worker ends', () => worker.end(), 3 * stage.leaseMs + 5_000);
      check((await subject.record()).status === 'completed', `the job is ${(await subject.record()).status}`);
      check(end.code === 0, `it ended with code ${String(end.code)}`);
      const late = stage.proxy.leases().filter(({ at }) => at > signalled + ON_ITS_WAY_MS).length;
      check(late === 0, `${late} lease calls after the signal`);
      check(
        subject.heartbeats().some(({ at }) => at > signalled),
        'no heartbeat after the signal',
      );
    },
  },
  {
    number: 26,
    title: 'SIGTERM, a sleep of 10 S',
    passes: '`aborted` at S, released (or failed, retryable), ends within S + 6 s',
    seconds: 6,
    async run(stage) {
      const shutdownSecs = stage.leaseSecs;
      const worker = stage.startWorker({ shutdownSecs });
      const subject = await startedSleep(stage, 10_000 * shutdownSecs);
      const signalled = performance.now();
      worker.signal('SIGTERM');
      const aborted = await subject.seen('aborted', shutdownSecs * 1000 + 2_000);
      const after = aborted.at - signalled;
      check(after >= shutdownSecs * 1000 - 200, `aborted after ${seconds(after)}`);
      const end = await until('the worker ends', () => worker.end(), 10_000);
      check(end.at - signalled <= shutdownSecs * 1000 + 6_000, `it ended after ${seconds(end.at - signalled)}`);
      check(subject.reports().some(isGivenBack), 'the job was not given back');
    },
  },
  {
    number: 27,
    title: 'SIGTERM twice',
    passes: 'released at once, ends within 3 s',
    seconds: 3,
    async run(stage) {
      const worker = stage.startWorker({ shutdownSecs: 30 });
      const subject = await startedSleep(stage);
      worker.signal('SIGTERM');
      await watch(300);
      const again = performance.now();
      worker.signal('SIGTERM');
      const end = await until('the worker ends', () => worker.end(), 10_000);
      check(end.at - again <= 3_000, `it ended after ${seconds(end.at - again)}`);
      check(subject.reports().some(isGivenBack), 'the job was not given back');
    },
  },
  {
    number: 28,
    title: 'SIGTERM, then cancel',
    passes: '`aborted` within L',
    seconds: 4,
    async run(stage) {
      const worker = stage.startWorker({ shutdownSecs: 30 });
      const subject = await startedSleep(stage, LONG_MS);
      worker.signal('SIGTERM');
      await watch(200);
      await subject.cancel();
      const cancelled = performance.now();
      const { at } = await subject.seen('aborted', stage.leaseMs + 500);
      check(at - cancelled <= stage.leaseMs + 500, `aborted after ${seconds(at - cancelled)}`);
    },
  },
];
