import { member, numberOf, parseExact, sameJson } from '../exact-json.js';
import { textOf, type Item } from '../proxy/calls.js';
import type { Scenario } from '../scenario.js';
import type { Stage } from '../stage/stage.js';
import type { Subject } from '../stage/subject.js';
import { ASK_EVERY_MS, check, PATIENCE_MS, until } from '../stage/violation.js';

/** Numbers that a double cannot hold, one with a trailing zero, characters outside the basic plane, escapes. */
const ODD_PAYLOAD =
  '{"big":9007199254740993,"price":1.10,"small":-0.1e-3,"emoji":"😀 ü",' +
  '"escapes":"\\u0041\\n\\t\\"\\\\\\/","list":[null,true,{}]}';

export const isPermanent = (item: Item): boolean => member(item.fields, 'retryable') === false;
const isRetryable = (item: Item): boolean => {
  const retryable = member(item.fields, 'retryable');
  return retryable === true || retryable === null || retryable === undefined;
};

/** The worker still runs jobs. */
export async function expectAlive(stage: Stage): Promise<void> {
  await (await stage.create('conf.echo', { alive: true })).reaches('completed');
}

async function onlyFail(subject: Subject): Promise<Item> {
  const fail = await subject.report('a fail', (item) => item.kind === 'fail');
  await subject.reaches('failed');
  check(subject.reports().length === 1, `${subject.reports().length} reports instead of one`);
  return fail;
}

/** Another worker may know the task: it costs no retry, and the pause keeps the job from being passed round. */
async function expectGivenBack(subject: Subject): Promise<void> {
  const { kind, fields } = await subject.report('a report', () => true);
  check(kind === 'release', `${kind} instead of release`);
  const delay = numberOf(member(fields, 'delay_secs'));
  check(delay >= 5 && delay <= 300, `delay_secs is ${delay}`);
}

export const OUTCOMES: readonly Scenario[] = [
  {
    number: 1,
    title: 'echo of odd numbers and text',
    passes: 'the result is the payload, byte for byte or numerically exact',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const subject = await stage.createText('conf.echo', ODD_PAYLOAD);
      await subject.reaches('completed');
      const result = member(subject.reports()[0]?.fields, 'result');
      check(sameJson(result, parseExact(ODD_PAYLOAD)), 'the result differs from the payload');
    },
  },
  {
    number: 2,
    title: 'a task that returns nothing',
    passes: 'completed with {}',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const { result } = await (await stage.create('conf.sleep', { ms: 0 })).reaches('completed');
      check(JSON.stringify(result) === '{}', `the result is ${JSON.stringify(result)}`);
    },
  },
  {
    number: 3,
    title: 'a retryable failure',
    passes: 'one fail, retryable true or absent, the message in error',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const payload = { message: 'the flux is out of phase', retryable: true };
      const fail = await onlyFail(await stage.create('conf.fail', payload, { max_retries: 0 }));
      check(isRetryable(fail), 'retryable is false');
      check(textOf(fail.fields, 'error').includes(payload.message), 'the message is not in error');
    },
  },
  {
    number: 4,
    title: 'a permanent failure',
    passes: 'one fail, retryable false',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const fail = await onlyFail(await stage.create('conf.fail', { message: 'no', retryable: false }));
      check(isPermanent(fail), 'retryable is not false');
    },
  },
  {
    number: 5,
    title: 'fails twice, then succeeds',
    passes: 'three deliveries, completed',
    seconds: 2,
    async run(stage) {
      stage.startWorker();
      const job = await (await stage.create('conf.flaky', { failures: 2 })).reaches('completed');
      check(job.delivery_count === 3, `${job.delivery_count} deliveries`);
    },
  },
  {
    number: 6,
    title: 'an unknown task',
    passes: 'released, with `delay_secs` of 5 to 300 (`--plain`: fail, retryable); the worker goes on',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const subject = await stage.create('conf.unheard-of', {}, { max_retries: stage.plain ? 0 : 3 });
      if (stage.plain) check(isRetryable(await onlyFail(subject)), 'retryable is false');
      else await expectGivenBack(subject);
      await expectAlive(stage);
    },
  },
  {
    number: 22,
    title: 'a result that is no object',
    passes: 'a permanent failure that names the reason; the worker lives',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const subject = await stage.create('conf.result', { invalid: true });
      const fail = await subject.report('a permanent fail', (item) => item.kind === 'fail' && isPermanent(item));
      check(/object|list|array|result/i.test(textOf(fail.fields, 'error')), 'the error does not name the reason');
      await expectAlive(stage);
    },
  },
  {
    number: 30,
    title: 'the queue `a/ü %`',
    passes: 'jobs run; the path is percent-encoded',
    seconds: 1,
    async run(stage) {
      stage.queue = 'a/ü %';
      stage.startWorker();
      await expectAlive(stage);
      const path = stage.proxy.leases()[0]?.path ?? '';
      check(/^\/api\/v1\/queues\/a%2F%C3%BC%20%25\/lease$/i.test(path), `the path is ${path}`);
    },
  },
  {
    number: 31,
    title: 'an error of 200 KiB',
    passes: 'one fail, 204',
    seconds: 1,
    async run(stage) {
      stage.startWorker();
      const fail = await onlyFail(
        await stage.create('conf.fail', { message: 'x'.repeat(200 * 1024), retryable: true }, { max_retries: 0 }),
      );
      check(fail.status === 204, `answered ${String(fail.status)}`);
    },
  },
  {
    number: 32,
    title: 'a payload with {"$step": …} and _context',
    passes: '`conf.context` sees the value, and no key where there is none',
    seconds: 2,
    async run(stage) {
      stage.queue = 'default';
      stage.startWorker();
      const workflow = await stage.service.createWorkflow({
        name: 'conformance',
        steps: [
          { name: 'first', task_name: 'conf.echo', payload: { at: { shelf: 7 } } },
          {
            name: 'second',
            task_name: 'conf.context',
            depends_on: ['first'],
            payload: {
              shelf: { $step: 'first', path: ['at', 'shelf'] },
              deep: { whole: { $step: 'first', path: ['at'] } },
              gone: { $step: 'first', path: ['nowhere'] },
              plain: 1,
            },
          },
        ],
      });
      const findStep = async (): Promise<string | null | undefined> =>
        (await stage.service.stepJobs(workflow)).get('second');
      const id = await until('the second step starts', findStep, PATIENCE_MS, ASK_EVERY_MS);
      const { result } = await stage.adopt(id).reaches('completed');
      const seen = JSON.stringify(result?.seen);
      check(seen === '{"shelf":7,"deep":{"whole":{"shelf":7}},"plain":1}', `the task saw ${seen}`);
    },
  },
];
