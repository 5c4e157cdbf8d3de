import { member, parseExact, sameJson } from '../exact-json.js';
import type { Call } from '../proxy/calls.js';
import { first } from '../proxy/rules.js';
import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage/stage.js';
import type { Subject } from '../stage/subject.js';
import { check, until, watch } from '../stage/violation.js';
import { isPermanent } from './outcomes.js';

/** Longer than any of these scenarios: only what it waits for wakes the job. */
const LONG_SECS = 3_600;

const isStore = ({ method, path }: Call): boolean => method === 'POST' && path.endsWith('/checkpoints');
const stores = (stage: Stage): readonly Call[] => stage.proxy.calls.filter(isStore);

const durable = (stage: Stage, program: readonly object[]): Promise<Subject> =>
  stage.create('conf.durable', { program });

async function resultsOf(subject: Subject): Promise<Readonly<Record<string, unknown>>> {
  const { result } = await subject.reaches('completed');
  return (result?.results ?? {}) as Record<string, unknown>;
}

function checkRan(subject: Subject, ...steps: readonly string[]): void {
  const ran = subject.ran();
  check(ran.join() === steps.join(), `the steps that ran: ${ran.join(', ') || 'none'}`);
}

/** Waits until the worker has said that the job is to wait, and the server has taken it. */
const suspended = async (subject: Subject): Promise<void> => {
  const item = await until('the job is suspended', () => subject.suspensions().find(({ status }) => status === 204));
  const has = (name: string): boolean => member(item.fields, name) !== undefined && member(item.fields, name) !== null;
  check(has('checkpoint'), 'the suspension names no checkpoint');
  check(has('until') || has('delay_secs'), 'the suspension has no deadline');
};

const GROUP = { group: 'durable', seconds: 2 } as const;

export const DURABLE: readonly Scenario[] = [
  {
    ...GROUP,
    number: 35,
    title: 'a step, then a failure',
    passes: 'each step runs once; the next attempt returns what was stored',
    async run(stage) {
      stage.startWorker();
      const subject = await durable(stage, [
        { step: 'a', value: { n: 1 } },
        { fail_on: 1 },
        { step: 'b', value: null },
      ]);
      const results = await resultsOf(subject);
      checkRan(subject, 'a', 'b');
      check(JSON.stringify(results) === '{"a":{"n":1},"b":null}', `the results are ${JSON.stringify(results)}`);
    },
  },
  {
    ...GROUP,
    number: 36,
    title: 'the answer to a checkpoint lost after the server took it',
    passes: 'repeated with the same body; the step runs once',
    async run(stage) {
      stage.proxy.addRule(first(1, isStore, { do: 'swallow' }));
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'a', value: 7 }]);
      check((await resultsOf(subject)).a === 7, 'the result is another one');
      checkRan(subject, 'a');
      const [lost, again] = stores(stage);
      check(again !== undefined, 'the checkpoint was not repeated');
      check(sameJson(parseExact(lost?.body ?? ''), parseExact(again.body)), 'the repetition has another body');
    },
  },
  {
    ...GROUP,
    number: 37,
    title: 'another value stands under the name',
    passes: 'the stored value counts, not the own one',
    async run(stage) {
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'a', value: 'own', ms: 1_000 }]);
      await subject.seen('ran');
      const { token = '' } = subject.deliveries()[0] ?? {};
      await stage.service.storeCheckpoint(subject.id, token, 'a', 'stands');
      const { a } = await resultsOf(subject);
      check(a === 'stands', `the step returned ${JSON.stringify(a)}`);
    },
  },
  {
    ...GROUP,
    number: 38,
    title: 'a checkpoint answered 409',
    passes: 'nothing else is stored; no report',
    seconds: 4,
    async run(stage) {
      stage.proxy.addRule((call) => (isStore(call) ? { do: 'answer', status: 409 } : undefined));
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'a' }, { step: 'b' }]);
      await until('a checkpoint is sent', () => stores(stage)[0]);
      await watch(stage.leaseMs / 2);
      checkRan(subject, 'a');
      check(subject.reports().length === 0, `${subject.reports().length} reports on a job that was taken away`);
    },
  },
  {
    ...GROUP,
    number: 39,
    title: 'a checkpoint answered 413',
    passes: 'a permanent failure that names the step',
    async run(stage) {
      stage.proxy.addRule((call) => (isStore(call) ? { do: 'answer', status: 413 } : undefined));
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'large one', value: 1 }]);
      await subject.report('a permanent fail', (item) => item.kind === 'fail' && isPermanent(item));
      const { error_message: message } = await subject.reaches('failed');
      check(String(message).includes('large one'), `the error does not name the step: ${String(message)}`);
    },
  },
  {
    ...GROUP,
    number: 40,
    title: 'a sleep of an hour, ended by run-now',
    passes: 'suspended with a deadline; the slot is free; goes on where it was',
    async run(stage) {
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'a' }, { sleep: 'nap', secs: LONG_SECS }, { step: 'b' }]);
      await suspended(subject);
      const others = await stage.createMany(stage.concurrency, 'conf.echo');
      await Promise.all(others.map((other) => other.reaches('completed')));
      await stage.service.runNow(subject.id);
      await subject.reaches('completed');
      checkRan(subject, 'a', 'b');
      check((await stage.service.checkpoints(subject.id)).get('nap') === null, 'the end of the sleep is not stored');
    },
  },
  {
    ...GROUP,
    number: 41,
    title: 'a signal after the wait',
    passes: 'completes with its value',
    async run(stage) {
      stage.startWorker();
      const subject = await durable(stage, [{ step: 'a' }, { wait: 'answer', secs: LONG_SECS }]);
      await suspended(subject);
      check(await stage.service.signal(subject.id, 'answer', { ok: true }), 'the job did not wait for the signal');
      const { answer } = await resultsOf(subject);
      check(JSON.stringify(answer) === '{"ok":true}', `the wait returned ${JSON.stringify(answer)}`);
      checkRan(subject, 'a');
    },
  },
  {
    ...GROUP,
    number: 42,
    title: 'a signal before the wait',
    passes: 'completes with its value',
    async run(stage) {
      const subject = await durable(stage, [{ wait: 'answer', secs: LONG_SECS }]);
      await stage.service.signal(subject.id, 'answer', 'early');
      stage.startWorker();
      const { answer } = await resultsOf(subject);
      check(answer === 'early', `the wait returned ${JSON.stringify(answer)}`);
    },
  },
  {
    ...GROUP,
    number: 43,
    title: 'a wait of one second that nobody answers',
    passes: 'null; {"timed_out": true} is stored',
    seconds: 3,
    async run(stage) {
      stage.startWorker();
      const subject = await durable(stage, [{ wait: 'answer', secs: 1 }]);
      const { answer } = await resultsOf(subject);
      check(answer === null, `the wait returned ${JSON.stringify(answer)}`);
      const stored = (await stage.service.checkpoints(subject.id)).get('answer');
      check(JSON.stringify(stored) === '{"timed_out":true}', `${JSON.stringify(stored)} is stored`);
    },
  },
  {
    ...GROUP,
    number: 44,
    title: 'a signal that comes after the deadline and before its checkpoint',
    passes: 'the signal counts',
    seconds: 4,
    async run(stage) {
      let sent = false;
      stage.proxy.addRule((call) => (isStore(call) && !sent ? { do: 'drop' } : undefined));
      stage.startWorker();
      const subject = await durable(stage, [{ wait: 'answer', secs: 1 }]);
      await until('the time-out is stored', () => stores(stage).find(({ body }) => body.includes('timed_out')));
      const delivered = await stage.service.signal(subject.id, 'answer', 'late');
      sent = true;
      check(delivered, 'the wait had ended before its checkpoint was stored');
      const { answer } = await resultsOf(subject);
      check(answer === 'late', `the wait returned ${JSON.stringify(answer)}`);
    },
  },
];
