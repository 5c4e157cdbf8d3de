import { randomUUID } from 'node:crypto';
import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import { breakThings, type Breakable } from '../support/breaking.js';
import { untilServing } from '../support/serving.js';
import { workOnWaits, type Endings } from '../support/waiting-worker.js';

const QUEUE = 'waiting';
const LEASE_SECS = 3;
/** Jobs share these, so that signals and waits race. */
const KEYS = 3;
const MOST_LIVE = 60;
/** Waits are over after two seconds at most: signals come before, at and after the deadline. */
const MOST_APART_MS = 2_500;
/** A step's wait is ended by a process that holds it for half a minute, and may die with it. */
const LATE_SECS = 60;

/**
 * Jobs sleep and wait for signals, and so do steps of workflows, on whose answers other steps depend, while servers and
 * PostgreSQL are killed and workers forget what they hold. Whatever happens: each acknowledged signal is there once,
 * each wait ends once, by its signal or its deadline, and every step goes by how it ended.
 */
export const waitKills: Fault = {
  row: 52,
  name: 'sleeps, signals and waiting steps, under kill -9 of servers and PostgreSQL',
  check: 'no signal lost or taken twice, each wait ends once, no wake-up lost',
  unit: 'kills',
  full: 600,
  everyday: 12,
  rare: true,
  async run(stage, count) {
    const cluster = await stage.cluster();
    const database = await stage.database({ on: cluster });
    const servers = [await stage.server({ database }), await stage.server({ database, mode: 'api' })];
    const [one, two] = servers.map((server) => stage.client(server)) as [ChaosClient, ChaosClient];
    stage.poolQueues.add(QUEUE); // its jobs end without a call that the history knows
    let left = count;
    let stopped = false;
    const going = (): boolean => left > 0;
    const onBroken = (): unknown => left--;
    const breakable = { stage, cluster, database, servers, workers: [], startWorker: () => undefined, going, onBroken };
    const waits: Waits = { ...breakable, sent: new Set(), given: new Map() };
    const endings: Endings = new Map();
    const worker = {
      stage,
      queue: QUEUE,
      leaseSecs: LEASE_SECS,
      forgets: 0.04,
      going,
      stopped: () => stopped,
      endings,
    };
    const working = [one, two, one, two].map((client) => workOnWaits(worker, client));
    await stage.outage(async () => {
      const creating = [one, two].flatMap((client) => [createJobs(waits, client), createWorkflows(waits, client)]);
      await Promise.all([breakThings(waits), ...creating]);
      await untilServing(stage, servers);
    });
    // Nothing else happens when these come to their deadlines: somebody has to look.
    for (const client of [one, two]) await startOne(waits, client, stepsWith({ timeout_secs: 2 }));
    await settled(waits);
    stopped = true;
    await Promise.all(working);
    await judgeSignals(waits);
    await judgeWorkflows(waits);
    const [timedOut = 0, slept = 0] = ['{"timed_out":true}', 'null'].map((end) => countOf(endings, end));
    stage.note(`${endings.size} waits of jobs ended, ${slept} of them sleeps and ${timedOut} by their deadline`);
    const bySignal = endings.size - timedOut - slept;
    stage.expect(Math.min(timedOut, slept, bySignal) > 0, 'one kind of end never came: not everything was tested');
  },
};

interface Waits extends Breakable {
  /** Values of signals to jobs that were acknowledged. */
  readonly sent: Set<string>;
  /** What workflows were given for certain: before they were started, or acknowledged as delivered. */
  readonly given: Map<string, string>;
}

const countOf = (endings: Endings, end: string): number => [...endings.values()].filter((each) => each === end).length;

async function createJobs(waits: Waits, client: ChaosClient): Promise<void> {
  const { stage, going } = waits;
  const sending: Promise<void>[] = [];
  while (going()) {
    if (await isFull(waits)) continue;
    const kind = stage.random.chance(0.3) ? 'sleep' : 'signal';
    const key = `key-${stage.random.below(KEYS)}`;
    const id = randomUUID();
    const body = { payload: { kind, key }, config: { ...QUICK, queue: QUEUE } };
    await stage.until(async () => (await client.create('work', body, id)).status === 201, {
      what: 'a job to be taken',
    });
    // Fewer than there are waits, so that some wait in vain.
    if (kind === 'signal' && stage.random.chance(0.7)) sending.push(signalLater(waits, client, key, `to ${id}`));
  }
  await Promise.all(sending);
}

async function isFull({ stage, database }: Waits): Promise<boolean> {
  const live = await database.liveJobs().catch(() => MOST_LIVE);
  if (live >= MOST_LIVE) await stage.sleep(50);
  return live >= MOST_LIVE;
}

async function signalLater({ stage, sent }: Waits, client: ChaosClient, key: string, value: string): Promise<void> {
  await stage.sleep(stage.random.between(0, MOST_APART_MS));
  const signal = { body: { name: 'go', key, value }, headers: { 'idempotency-key': value } };
  const send = async (): Promise<boolean> =>
    (await client.send('other', 'POST', '/api/v1/signals', signal)).status === 202;
  await stage.until(send, { what: 'a signal to be taken' });
  sent.add(value);
}

/** A step waits, and two others go by what it was told: one if it was told anything, one if not. */
const stepsWith = (wait: object): readonly object[] => {
  const run = { task_name: 'step', queue: QUEUE, config: QUICK };
  const when = (field: string): object => ({
    when: { ref: { $step: 'gate', path: [field] }, is: true, otherwise: 'continue' },
  });
  return [
    { name: 'first', ...run },
    { name: 'gate', depends_on: ['first'], wait: { signal: 'ok', on_timeout: 'continue', ...wait } },
    { name: 'told', depends_on: ['gate'], ...run, ...when('told') },
    { name: 'late', depends_on: ['gate'], ...run, ...when('timed_out') },
    { name: 'last', depends_on: ['told', 'late'], ...run },
  ];
};

async function createWorkflows(waits: Waits, client: ChaosClient): Promise<void> {
  const { stage, going, given } = waits;
  const sending: Promise<void>[] = [];
  while (going()) {
    if (await isFull(waits)) continue;
    const mark = randomUUID();
    const value = { told: true, mark };
    const timeout = { timeout_secs: stage.random.integer(1, 2) };
    if (stage.random.chance(0.3)) {
      // Before there is anything to take it: the step must find it.
      const signal = { body: { name: 'ok', key: mark, value }, headers: { 'idempotency-key': mark } };
      await stage.until(async () => (await client.send('other', 'POST', '/api/v1/signals', signal)).status === 202, {
        what: 'a signal to be taken',
      });
      given.set(await startOne(waits, client, stepsWith({ key: mark, ...timeout })), mark);
    } else {
      const id = await startOne(waits, client, stepsWith(timeout));
      if (stage.random.chance(0.7)) sending.push(tellLater(waits, client, id, value));
    }
  }
  await Promise.all(sending);
}

async function startOne({ stage }: Waits, client: ChaosClient, steps: readonly object[]): Promise<string> {
  const request = { body: { name: 'waits', steps }, headers: { 'idempotency-key': randomUUID() } };
  let id = '';
  const started = async (): Promise<boolean> => {
    const { status, body } = await client.send('other', 'POST', '/api/v1/workflows', request);
    id = String(body.workflow_id);
    return status === 201;
  };
  await stage.until(started, { what: 'a workflow to be taken' });
  return id;
}

async function tellLater(
  { stage, given }: Waits,
  client: ChaosClient,
  id: string,
  value: { readonly mark: string },
): Promise<void> {
  await stage.sleep(stage.random.between(0, MOST_APART_MS));
  const request = { body: { value }, headers: { 'idempotency-key': value.mark } };
  await stage.until(
    async () => {
      const { status, body } = await client.send('other', 'POST', `/api/v1/workflows/${id}/signals/ok`, request);
      if (status === 202 && body.delivered === true) given.set(id, value.mark);
      // 409: it has ended meanwhile.
      return status === 202 || status === 409;
    },
    { what: 'a signal to a workflow to be taken' },
  );
}

/** All jobs end; or some wait beyond their deadlines, and do so each time that one looks. */
async function settled({ stage, database }: Waits): Promise<void> {
  await stage.until(
    async () => {
      const live = await database.liveJobs();
      if (live === 0) return true;
      const late = await database.count(
        `millrace.waits w JOIN millrace.ready r ON r.tenant = w.tenant AND r.id = w.job_id
         WHERE w.open AND w.until < now() - $1::int * interval '1 second'`,
        [LATE_SECS],
      );
      if (late === 0) return `${live} jobs left`;
      stage.violation(`${late} jobs wait, though their deadline was ${LATE_SECS} s ago`);
      return true;
    },
    { what: 'every job to end', withinMs: 150_000, everyMs: 200 },
  );
}

async function judgeSignals({ stage, database, sent }: Waits): Promise<void> {
  const taken = await database.query<{ value: string }>(
    `SELECT value ->> 'value' AS value FROM millrace.checkpoints WHERE name = 'wait' AND value::text LIKE '%"value"%'`,
  );
  const stored = await database.query<{ value: string }>(
    `SELECT value #>> '{}' AS value FROM millrace.signals WHERE name = 'go'`,
  );
  const times = new Map<string, number>();
  for (const { value } of [...taken, ...stored]) times.set(value, (times.get(value) ?? 0) + 1);
  for (const value of sent) {
    const n = times.get(value) ?? 0;
    if (n !== 1) stage.violation(`the signal "${value}" was acknowledged, and is there ${n} times`);
  }
  stage.note(`${sent.size} signals to jobs, ${taken.length} of them taken`);
}

interface Gate {
  readonly id: string;
  readonly status: string;
  /** How the waiting step ended. */
  readonly mark: string | null;
  readonly late: boolean;
  /** The other steps that have a job, in the order of their names. */
  readonly ran: string;
}

const GATES = `
  SELECT e.id::text, e.status::text, g.result ->> 'mark' AS mark, coalesce((g.result ->> 'timed_out')::bool, false) AS late,
         (SELECT string_agg(j.step, ' ' ORDER BY j.step) FROM millrace.jobs j WHERE j.workflow_id = e.id) AS ran
  FROM millrace.workflow_ends e
  LEFT JOIN LATERAL (
    SELECT r.result FROM millrace.job_records r WHERE r.workflow_id = e.id AND r.step = 'gate'
  ) AS g ON true`;

async function judgeWorkflows({ stage, database, given }: Waits): Promise<void> {
  const gates = await database.query<Gate>(GATES);
  const byId = new Map(gates.map((gate) => [gate.id, gate]));
  for (const [id, mark] of given)
    stage.expect(
      byId.get(id)?.mark === mark,
      `workflow ${id} was given ${mark}, and its step ended with ${byId.get(id)?.mark ?? 'nothing'}`,
    );
  for (const { id, status, mark, late, ran } of gates) {
    stage.expect(status === 'completed', `workflow ${id} is ${status}`);
    stage.expect(late === (mark === null), `the step of workflow ${id} ended with ${mark ?? 'nothing'}, late: ${late}`);
    const expected = late ? 'first gate last late' : 'first gate last told';
    stage.expect(ran === expected, `workflow ${id} ran "${ran}" after its step ended with ${mark ?? 'nothing'}`);
  }
  const late = gates.filter((gate) => gate.late).length;
  stage.note(`${gates.length} workflows, ${late} of them without an answer`);
  stage.expect(late > 0 && late < gates.length, 'steps ended in one way only: not everything was tested');
}
