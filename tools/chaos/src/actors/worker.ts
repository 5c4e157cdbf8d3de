import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '@millrace/tools-shared';
import { ChaosClient, type LeasedJob } from '../history/client.js';
import { fileJournal } from '../history/history.js';
import { readSettings } from '../stage/actors.js';
import { rotating } from './rotating.js';

/**
 * A remote worker as docs/worker-protocol.md describes it: it leases, works, sends a heartbeat every half lease,
 * reports, and stops working on a job it has lost. It runs until SIGTERM, then finishes the jobs it holds.
 */
const settings = readSettings();
const random = new Random(settings.seed);
const urls = rotating(settings.urls);
const journal = fileJournal(settings.journal);
const client = new ChaosClient({ ...settings, url: urls.current, journal });

let stopping = false;
process.once('SIGTERM', () => (stopping = true));

while (!stopping) {
  const jobs = await client.lease(settings.queue, {
    max: settings.maxJobs,
    secs: settings.leaseSecs,
    wait: settings.waitSecs,
  });
  await Promise.all(jobs.map((job) => work(job)));
  if (jobs.length === 0) {
    urls.advance();
    await sleep(100);
  }
}
journal.close();

async function work({ id, token }: LeasedJob): Promise<void> {
  const doneAt = performance.now() + random.between(...settings.workMs);
  const beatEvery = (settings.leaseSecs * 1_000) / 2;
  while (settings.heartbeats && doneAt - performance.now() > beatEvery) {
    await sleep(beatEvery);
    const { status, body } = await client.heartbeat(id, token, settings.leaseSecs);
    if (status === 409 || (status === 200 && body.status !== 'running')) return;
  }
  await sleep(Math.max(0, doneAt - performance.now()));
  await report(id, token, random.chance(settings.failRate));
}

/** Repeats the report until it is answered: that is how a worker survives a crash of its server. */
async function report(id: string, token: string, fails: boolean): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const { status } = fails ? await client.fail(id, token) : await client.complete(id, token);
    if (status !== null && status < 500) return;
    urls.advance();
    await sleep(100);
  }
}
