import { setTimeout as sleep } from 'node:timers/promises';
import { QUICK } from '../stage/actors.js';
import { TENANT_KEY, WORKER_TOKEN, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const QUEUE = 'mixed';
const CHILDREN = ['one', 'two', 'three'];
/** Sweeps that look for what an older program has told nobody come every half a minute. */
const MENDED_MS = 90_000;

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

interface Held {
  readonly id: string;
  readonly token: string;
}

/** Not by a client of the suite: here the old program is asked for what it cannot do. */
async function call(server: ServerProcess, path: string, body: object | null, token = TENANT_KEY): Promise<Answer> {
  const response = await fetch(`${server.url}/api/v1/${path}`, {
    method: body === null ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== null && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) };
}

const asWorker = (server: ServerProcess, path: string, body: object): Promise<Answer> =>
  call(server, path, body, WORKER_TOKEN);

async function lease(server: ServerProcess, most: number): Promise<readonly Held[]> {
  const body = { max_jobs: most, lease_secs: 300, wait_secs: 1 };
  const answer = await asWorker(server, `queues/${QUEUE}/lease`, body);
  const jobs = (answer.body.jobs ?? []) as readonly { job: { id: string }; lease_token: string }[];
  return jobs.map(({ job, lease_token: token }) => ({ id: job.id, token }));
}

/** The next job, whoever wakes it. */
async function next(server: ServerProcess): Promise<Held | null> {
  for (const endsAt = performance.now() + MENDED_MS; performance.now() < endsAt; await sleep(100)) {
    const [held] = await lease(server, 1);
    if (held !== undefined) return held;
  }
  return null;
}

const complete = (server: ServerProcess, { id, token }: Held, result: object = {}): Promise<Answer> =>
  asWorker(server, `jobs/${id}/complete`, { lease_token: token, result });

/** What an older program does to jobs and workflows of a newer one beside it: no harm, or nothing. */
export async function expectNoHarm(stage: Stage, older: ServerProcess, newer: ServerProcess): Promise<void> {
  await expectParentGoesOn(stage, older, newer);
  await expectRightStep(stage, older, newer);
  await expectRoomComesBack(stage, older, newer);
}

/** Children that the older program ends, of which it tells nobody. */
async function expectParentGoesOn(stage: Stage, older: ServerProcess, newer: ServerProcess): Promise<void> {
  await call(newer, 'jobs', { task_name: 'work', config: { ...QUICK, queue: QUEUE } });
  const parent = await next(newer);
  if (parent === null) return stage.violation('there was no parent');
  const jobs = CHILDREN.map((name) => ({ name, task_name: 'work', config: { ...QUICK, queue: QUEUE } }));
  await asWorker(newer, `jobs/${parent.id}/children`, { lease_token: parent.token, jobs });
  const wait = { checkpoint: 'all', delay_secs: 3_600, wait: { children: CHILDREN } };
  await asWorker(newer, `jobs/${parent.id}/suspend`, { lease_token: parent.token, ...wait });
  for (let ended = 0; ended < CHILDREN.length; ended++) {
    const child = await next(older);
    if (child === null) return stage.violation(`an older program was given ${ended} of ${CHILDREN.length} children`);
    const { status } = await complete(older, child);
    stage.expect(status === 204, `an older program answered ${status} to the end of a child`);
  }
  const woken = await next(newer);
  if (woken?.id !== parent.id) return stage.violation('nobody woke a parent whose children an older program had ended');
  const { body } = await call(newer, `jobs/${parent.id}/checkpoints`, null);
  const told = JSON.stringify(body).match(/"status":"completed"/g)?.length ?? 0;
  stage.expect(told === CHILDREN.length, `the parent was told of ${told} of ${CHILDREN.length} children`);
  await complete(newer, woken);
}

/** A step on whose result others decide, reported to the older program, which knows no conditions. */
async function expectRightStep(stage: Stage, older: ServerProcess, newer: ServerProcess): Promise<void> {
  const run = { task_name: 'work', queue: QUEUE, config: QUICK };
  const when = (is: boolean): object => ({
    depends_on: ['first'],
    when: { ref: { $step: 'first', path: ['yes'] }, is },
  });
  const steps = [
    { name: 'first', ...run },
    { name: 'yes', ...run, ...when(true) },
    { name: 'no', ...run, ...when(false) },
  ];
  const { body } = await call(newer, 'workflows', { name: 'mixed', steps });
  const first = await next(newer);
  if (first === null) return stage.violation('there was no first step');
  // 204: it is not so old that it would not know conditions. Then it goes on by them.
  const { status } = await complete(older, first, { yes: true });
  stage.expect([204, 503].includes(status), `an older program answered ${status} to a step on which others decide`);
  if (status === 503) {
    const taken = await complete(newer, first, { yes: true });
    stage.expect(taken.status === 204, `a newer program answered ${taken.status} after the older one had refused`);
  }
  const second = await next(newer);
  if (second !== null) await complete(newer, second);
  const shown = await call(newer, `workflows/${String(body.workflow_id)}/steps`, null);
  const states = (shown.body.steps as readonly { status: string }[]).map(({ status }) => status).join();
  stage.note(
    `beside a newer one, an older program ended ${CHILDREN.length} children, and answered ${status} to a step`,
  );
  stage.expect(states === 'completed,completed,skipped', `steps that decide ended ${states} beside an older program`);
}

/** A key for one job at a time, whose first job the older program ends: it gives no room back, and takes none twice. */
async function expectRoomComesBack(stage: Stage, older: ServerProcess, newer: ServerProcess): Promise<void> {
  const config = { ...QUICK, queue: QUEUE, limits: [{ key: 'mixed', running: 1 }] };
  await call(newer, 'jobs/batch', { jobs: [1, 2].map(() => ({ task_name: 'work', config })) });
  const first = await next(older);
  if (first === null) return stage.violation('an older program was given no job with a limit');
  const beside = await lease(newer, 2);
  stage.expect(beside.length === 0, 'a second job of a key for one ran beside that of an older program');
  const { status } = await complete(older, first);
  stage.expect(status === 204, `an older program answered ${status} to the end of a job with a limit`);
  const second = await next(newer);
  if (second === null) return stage.violation('the room that an older program had not given back never came back');
  await complete(newer, second);
}
