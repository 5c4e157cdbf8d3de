import { sameJson } from '../exact-json.js';
import type { Call, Item } from '../proxy/calls.js';
import { first, type RefusalStatus } from '../proxy/rules.js';
import type { Scenario } from '../scenario.js';
import type { Subject } from '../stage/subject.js';
import { check, PATIENCE_MS, seconds, until, watch } from '../stage/violation.js';
import { isPermanent } from './outcomes.js';

const isReport = ({ kind }: Call): boolean => kind === 'report';
const isComplete = ({ kind }: Item): boolean => kind === 'complete';

/** Slightly less than the `Retry-After` of 2 s, as clocks are not perfect. */
const RETRY_AFTER_MS = 1_900;

const refusedComplete = (number: number, status: RefusalStatus): Scenario => ({
  number,
  title: `complete answered ${status}`,
  passes: 'a fail with retryable false follows',
  seconds: 1,
  async run(stage) {
    stage.proxy.addRule((call) => (isReport(call) ? { do: 'refuse', status, items: isComplete } : undefined));
    stage.startWorker();
    const subject = await stage.create('conf.echo', { some: 'result' });
    await subject.report('a permanent fail', (item) => item.kind === 'fail' && isPermanent(item));
    await subject.reaches('failed');
  },
});

/** How long after the call that was refused the next one came; there was exactly one. */
function pauses(what: string, instants: readonly number[]): void {
  const [refused, next] = instants;
  check(refused !== undefined && next !== undefined, `${what} was not repeated`);
  check(next - refused >= RETRY_AFTER_MS, `${what} was repeated after ${seconds(next - refused)}`);
}

/** Either the first delivery was reported late and accepted, or it was not and the job ran again. */
function checkOneEffect(subject: Subject): void {
  const accepted = subject.reports().filter((item) => isComplete(item) && item.status === 204);
  const tokens = new Set(accepted.map(({ token }) => token));
  const deliveries = subject.deliveries();
  check(tokens.size === 1, `${tokens.size} deliveries were reported as completed`);
  check(tokens.has(deliveries.at(-1)?.token ?? ''), 'the job was delivered again although its report was accepted');
}

export const REPORTS: readonly Scenario[] = [
  {
    number: 17,
    title: 'the answer to complete lost after the server took it',
    passes: 'repeated with the same body; one run of the handler',
    seconds: 4,
    async run(stage) {
      stage.proxy.addRule(first(1, isReport, { do: 'swallow' }));
      stage.startWorker();
      const subject = await stage.create('conf.echo', { some: 'result' });
      const [lost, again] = await until('complete is repeated', () => {
        const completes = subject.reports().filter(isComplete);
        return completes.length >= 2 && completes[1]?.status === 204 ? completes : null;
      });
      check(sameJson(lost?.fields, again?.fields), 'the repetition has another body');
      check(subject.beacons('started').length === 1, `the handler ran ${subject.beacons('started').length} times`);
      check(subject.deliveries().length === 1, `${subject.deliveries().length} deliveries`);
    },
  },
  {
    number: 18,
    title: '503 with Retry-After: 2 on lease, then on complete',
    passes: 'no repetition within 1.9 s; then one; nothing lost',
    seconds: 6,
    async run(stage) {
      const busy = { do: 'answer', status: 503, retryAfterSecs: 2 } as const;
      stage.proxy.addRule(first(1, ({ kind }) => kind === 'lease', busy));
      stage.proxy.addRule(first(1, isReport, busy));
      const subject = await stage.create('conf.echo', { some: 'result' });
      stage.startWorker();
      await subject.reaches('completed');
      pauses(
        'lease',
        stage.proxy.leases().map(({ at }) => at),
      );
      pauses(
        'complete',
        subject.reports().map(({ at }) => at),
      );
      await watch(500);
      check(subject.reports().length === 2, `complete was sent ${subject.reports().length} times`);
      check(subject.deliveries().length === 1, `${subject.deliveries().length} deliveries`);
    },
  },
  {
    number: 19,
    title: 'no answers for 1.5 L while a job ends',
    passes: 'the report arrives afterwards, or the job is redelivered; never both effects',
    seconds: 8,
    async run(stage) {
      stage.startWorker();
      const subject = await stage.create('conf.sleep', { ms: stage.leaseMs / 2 });
      await subject.seen('started');
      stage.proxy.addRule(() => ({ do: 'ignore' }));
      await watch(1.5 * stage.leaseMs);
      stage.proxy.clearRules();
      await subject.reaches('completed', 2 * PATIENCE_MS + 5 * stage.leaseMs);
      await watch(stage.leaseMs);
      checkOneEffect(subject);
    },
  },
  refusedComplete(20, 400),
  refusedComplete(21, 413),
];
