/**
 * Takes a logical and a physical backup of a database under load, restores both, and checks them: every invariant holds
 * (`millrace doctor`), every job acknowledged before the backup began is there, and all of them can be finished.
 *
 *   npm run drill                         with PostgreSQL's own programs, in a temporary directory; about two minutes
 *   npm run drill -- --quick              without finishing the jobs, which takes as long as a lease lasts
 *   npm run drill -- --seconds 60         with a longer load
 *   npm run drill -- --bindir DIR         with the programs in DIR
 *
 * It needs pg_dump, pg_basebackup and a server of the same version, which the embedded PostgreSQL does not have. It
 * exits with 3 if there are none.
 */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { accountForPostgres, Cluster, findPrograms, output } from './lib/postgres.mjs';
import { ready } from './lib/setup.mjs';
import { step } from './lib/steps.mjs';

const CREDENTIALS = { MILLRACE_API_KEYS: 'drill-key:drill', MILLRACE_WORKER_TOKEN: 'drill-worker' };
const BATCH = 100;

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    bindir: { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const programs = findPrograms(values.bindir);
if (programs === null) {
  console.error('NOT RUN: there is no PostgreSQL with pg_dump and pg_basebackup here (Debian: postgresql)');
  process.exit(3);
}
await ready();
// Built by now.
const { MILLRACE, startService } = await import('../tools/shared/dist/index.js');

const home = mkdtempSync(join(tmpdir(), 'millrace-drill-'));
chmodSync(home, 0o755);
const account = accountForPostgres();
const cluster = (name) => new Cluster({ programs, account, directory: join(home, name) });
const clusters = [];
const services = new Set();

try {
  await drill();
  console.log('both backups hold everything that was acknowledged before they began');
} catch (error) {
  console.error(`FAIL  ${error.message}`);
  process.exitCode = 1;
} finally {
  for (const service of services) await service.stop();
  for (const each of clusters) await each.stop('immediate').catch(() => undefined);
  rmSync(home, { recursive: true, force: true });
}

async function drill() {
  const primary = await step('a PostgreSQL of its own', async () => {
    const made = cluster('primary');
    clusters.push(made);
    await made.create();
    await made.start();
    await made.run('psql', ['-d', 'postgres', '-qc', 'CREATE DATABASE app']);
    return made;
  });
  const service = await serve(primary.url('app'));
  const load = startLoad(service);
  await sleep((Number(values.seconds) * 1000) / 2);

  const dumped = [...load.acknowledged];
  const dump = join(primary.directory, 'app.dump');
  await step('pg_dump, under load', () => primary.run('pg_dump', ['--format=custom', '--file', dump, 'app']));
  const copied = [...load.acknowledged];
  const copy = cluster('copy');
  copy.prepare();
  await step('pg_basebackup, under load', () =>
    primary.run('pg_basebackup', ['-D', copy.data, '--checkpoint=fast', '--wal-method=stream', '--no-sync']),
  );

  await sleep((Number(values.seconds) * 1000) / 2);
  await load.stop();
  await service.stop();
  console.log(
    `      ${dumped.length}, ${copied.length} and ${load.acknowledged.length} jobs were acknowledged by then`,
  );
  if (dumped.length === 0 || copied.length === dumped.length) throw new Error('the load stood still during a backup');

  await step('pg_restore', async () => {
    await primary.run('psql', ['-d', 'postgres', '-qc', 'CREATE DATABASE restored']);
    await primary.run('pg_restore', ['--exit-on-error', '--dbname', 'restored', dump]);
  });
  await check('the restored dump', primary.url('restored'), dumped);
  await primary.stop();

  clusters.push(copy);
  await step('start of the physical copy', () => copy.start());
  await check('the physical copy', copy.url('app'), copied);
}

/** Is everything there, does every invariant hold, and can a service go on from there? */
async function check(what, url, ids) {
  await step(`${what}: all of ${ids.length} jobs are there`, async () => {
    const { found } = await count(url, ids);
    if (found !== ids.length) throw new Error(`${ids.length - found} of ${ids.length} jobs are missing`);
  });
  // Jobs that ran during the backup hold leases from then, until a service reclaims them.
  await step(`${what}: millrace doctor`, () => doctor(url, ['no_lease_is_long_overdue']));
  if (values.quick) return;
  await step(`${what}: a service finishes them`, async () => {
    const service = await serve(url);
    const deadline = performance.now() + 120_000;
    while ((await count(url, ids)).completed < ids.length) {
      if (performance.now() > deadline) throw new Error('jobs are still unfinished after two minutes');
      await sleep(200);
    }
    await service.stop();
  });
  await step(`${what}: millrace doctor, afterwards`, () => doctor(url, []));
}

async function doctor(url, expected) {
  const env = { PATH: process.env.PATH, DATABASE_URL: url };
  const text = await output(process.execPath, [MILLRACE, 'doctor', '--json'], { env }).catch((error) => error.message);
  const { checks } = JSON.parse(text.slice(text.indexOf('{')));
  const broken = checks.filter(({ violations }) => violations > 0).map(({ check: name }) => name);
  const unexpected = broken.filter((name) => !expected.includes(name));
  if (unexpected.length > 0) throw new Error(text);
}

async function count(url, ids) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query(
    `SELECT count(*)::int AS found, (count(*) FILTER (WHERE status = 'completed'))::int AS completed
     FROM millrace.job_records WHERE id = ANY($1::uuid[])`,
    [ids],
  );
  await client.end();
  return rows[0];
}

/** One process of the service on free ports; resolves once it listens. */
async function serve(url) {
  const started = await startService({ flags: [], env: { DATABASE_URL: url, ...CREDENTIALS } });
  const stop = async () => {
    services.delete(service);
    await started.end();
  };
  const service = { url: started.apiUrl, stop };
  services.add(service);
  return service;
}

/** Attempts that a backup interrupted are made again at once. */
function job(n) {
  return { task_name: 'echo', payload: { n }, config: { retry_delay_secs: 0 } };
}

/** Creates batch after batch, and notes what was acknowledged. */
function startLoad({ url }) {
  const acknowledged = [];
  let stopped = false;
  const body = JSON.stringify({
    jobs: Array.from({ length: BATCH }, (_, n) => job(n)),
  });
  const headers = { authorization: 'Bearer drill-key', 'content-type': 'application/json' };
  const work = async () => {
    while (!stopped) {
      const answer = await fetch(`${url}/api/v1/jobs/batch`, { method: 'POST', headers, body });
      if (answer.status !== 201) throw new Error(`a create was answered with ${answer.status}`);
      acknowledged.push(...(await answer.json()).job_ids);
      // Enough to be busy; as fast as it can would make the restore long, and prove no more.
      await sleep(20);
    }
  };
  const working = Promise.all([work(), work()]);
  // A failure is thrown by `stop`; until then it must not end the process.
  working.catch(() => undefined);
  const stop = () => {
    stopped = true;
    return working;
  };
  return { acknowledged, stop };
}
