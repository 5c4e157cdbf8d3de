/**
 * A worker over the plain protocol that does what the kit asks, except for the one thing that its argument names: the
 * kit has to notice.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const fault = process.argv[2];
const { MILLRACE_URL, MILLRACE_WORKER_TOKEN, MILLRACE_QUEUE, MILLRACE_CONCURRENCY, MILLRACE_LEASE_SECS } = process.env;
const leaseSecs = Number(MILLRACE_LEASE_SECS);
const headers = { authorization: `Bearer ${MILLRACE_WORKER_TOKEN}`, 'content-type': 'application/json' };
const stopping = new AbortController();

/** The answer, or null if there was none. */
async function post(path, body, signal) {
  try {
    const init = { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body), signal };
    const answer = await fetch(`${MILLRACE_URL}/api/v1${path}`, init);
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), text: await answer.text() };
  } catch {
    return null;
  }
}

/** Repeated until there is an answer that counts. */
async function persist(path, body) {
  for (;;) {
    const answer = await post(path, body);
    if (fault === 'reports once' || (answer !== null && answer.status < 500)) return answer;
    await sleep(fault === 'ignores Retry-After' ? 100 : Number(answer?.retryAfter ?? 0.3) * 1000);
  }
}

const beacon = async (payload, event) => {
  if (payload.beacon) await fetch(payload.beacon, { method: 'POST', body: event }).catch(() => undefined);
};

class Permanent extends Error {}
class Unknown extends Error {}

/** The result as JSON text. */
async function run({ task_name: task, payload, delivery_count: delivery }, text, lost) {
  const { ms, message, retryable, failures, invalid } = payload;
  switch (task) {
    case 'conf.echo':
      return fault === 'rounds numbers' ? JSON.stringify(payload) : text;
    case 'conf.sleep':
      await sleep(ms, undefined, { signal: lost });
      return '{}';
    case 'conf.fail':
      throw retryable === false && fault !== 'always retries' ? new Permanent(message) : new Error(message);
    case 'conf.flaky':
      if (delivery <= failures) throw new Error('again');
      return '{}';
    case 'conf.result':
      if (invalid) throw new Permanent('the result is a list, not an object');
      return '{}';
    default:
      throw new Unknown(`unknown task ${task}`);
  }
}

async function work({ job, lease_token: token }, answer) {
  const path = `/jobs/${job.id}`;
  const lost = new AbortController();
  const beat = async () => {
    const said = await post(`${path}/heartbeat`, { lease_token: token, extend_secs: leaseSecs });
    if (said === null || said.status >= 500) return;
    if (said.status !== 200 || JSON.parse(said.text).status !== 'running') lost.abort();
  };
  const timer = fault === 'never heartbeats' ? undefined : setInterval(() => void beat(), leaseSecs * 450);
  if (fault === 'prints tokens') process.stdout.write(`${token}\n`);
  const giveBack = () =>
    void post(`${path}/fail`, { lease_token: token, error: 'stopping' }).then(() => process.exit(0));
  process.on('SIGUSR2', giveBack);
  await beacon(job.payload, 'started');
  const fail = (error, retryable) =>
    persist(`${path}/fail`, { lease_token: token, error: error.message.slice(0, 60_000), retryable });
  try {
    const text = /"payload":(\{.*?\}),"config"/s.exec(answer)?.[1] ?? '{}';
    const result = await run(job, text, lost.signal);
    await beacon(job.payload, 'finished');
    const said = await persist(`${path}/complete`, `{"lease_token":"${token}","result":${result}}`);
    if ([400, 413].includes(said?.status) && fault !== 'ignores refusals') await fail(new Error('refused'), false);
  } catch (error) {
    if (error instanceof Unknown && fault !== 'fails what it does not know')
      await persist(`${path}/release`, { lease_token: token, delay_secs: 5 });
    else if (!lost.signal.aborted) await fail(error, !(error instanceof Permanent));
    else {
      await beacon(job.payload, 'aborted');
      if (fault === 'reports lost jobs') await fail(error, true);
    }
  } finally {
    clearInterval(timer);
    process.off('SIGUSR2', giveBack);
  }
}

async function lane() {
  const queue = encodeURIComponent(MILLRACE_QUEUE);
  while (!stopping.signal.aborted) {
    const body = { max_jobs: 1, lease_secs: leaseSecs, wait_secs: fault === 'polls in a loop' ? 0 : 10 };
    const answer = await post(`/queues/${queue}/lease`, body);
    if (answer?.status === 401) return 1;
    if (answer?.status === 200) for (const each of JSON.parse(answer.text).jobs) await work(each, answer.text);
    else if (fault !== 'polls in a loop') await sleep(Number(answer?.retryAfter ?? 1) * 1000);
  }
  return 0;
}

process.on('SIGTERM', () => {
  if (stopping.signal.aborted) process.emit('SIGUSR2');
  stopping.abort();
});
const lanes = Number(MILLRACE_CONCURRENCY) * (fault === 'runs too many' ? 2 : 1);
const codes = await Promise.all(Array.from({ length: lanes }, lane));
process.exit(fault === 'ends well' ? 0 : Math.max(...codes));
