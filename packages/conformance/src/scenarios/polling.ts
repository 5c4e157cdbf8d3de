import { first } from '../proxy/rules.js';
import type { Scenario } from '../scenario.js';
import { check, PATIENCE_MS, seconds, until, watch } from '../stage/violation.js';
import { startedSleep } from './aborts.js';

export const POLLING: readonly Scenario[] = [
  {
    number: 23,
    title: 'an idle poll reset',
    passes: 'polls again after 0.2 to 30 s',
    seconds: 5,
    async run(stage) {
      stage.proxy.addRule(first(1, ({ kind }) => kind === 'lease', { do: 'drop' }));
      stage.startWorker();
      await until('the next poll', () => stage.proxy.leases().length >= 2, 30_000 + PATIENCE_MS);
      // One that polls in a loop is seen to do so, even if the machine stalls between two of its calls.
      await watch(1_000);
      const polls = stage.proxy.leases();
      const pauses = polls.slice(1).map(({ at }, n) => at - (polls[n]?.at ?? 0));
      const [pause = 0] = pauses;
      check(pause <= 30_000, `polled again after ${seconds(pause)}`);
      const shortest = Math.min(...pauses);
      check(shortest >= 200, `polled again after ${seconds(shortest)}`);
    },
  },
  {
    number: 24,
    title: '401 on lease for good',
    passes: 'finishes what it holds, then ends with a code other than 0 within S',
    seconds: 7,
    async run(stage) {
      const shutdownSecs = 3 * stage.leaseSecs;
      const worker = stage.startWorker({ shutdownSecs });
      const subject = await startedSleep(stage, stage.leaseMs);
      stage.proxy.addRule(({ kind }) => (kind === 'lease' ? { do: 'answer', status: 401 } : undefined));
      // The open poll has to end before the worker can hear of it; a new job ends it.
      await stage.create('conf.echo');
      const refused = await until(
        'a lease call is refused',
        () => stage.proxy.leases().find(({ status }) => status === 401),
        30_000 + PATIENCE_MS,
      );
      const end = await until('the worker ends', () => worker.end(), shutdownSecs * 1000 + PATIENCE_MS);
      check((await subject.record()).status === 'completed', 'it did not finish the job that it held');
      check(end.code !== 0 && end.code !== null, `it ended with code ${String(end.code)}`);
      const took = end.at - refused.at;
      check(took <= shutdownSecs * 1000, `it ended after ${seconds(took)}`);
    },
  },
];
