import type { Fault } from '../fault.js';
import type { Stage } from '../stage/stage.js';
import type { ChaosClient, LeasedJob } from '../history/client.js';
import type { ManagedProcess } from '../stage/processes.js';

const JOBS_EACH = 10;
const ZOMBIES = 3;
/** Much longer than it takes to notice that they hold their jobs; they are stopped for longer still, mostly. */
const WORK_MS = [8_000, 8_050] as const;

/**
 * Workers are stopped while they hold jobs, until their leases have been reclaimed and others hold the jobs. Then they
 * wake up and report. Their reports must be refused, and the results of the second holders must count.
 */
export const zombieWorkers: Fault = {
  row: 3,
  name: 'SIGSTOP a worker past its lease, then SIGCONT',
  check: 'the zombie gets 409, the second result counts',
  unit: 'jobs',
  full: 1_000,
  everyday: 30,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database, mode: 'api' });
    const client = stage.client(server);
    for (let done = 0; done < count; done += ZOMBIES * JOBS_EACH) {
      const zombies = Array.from({ length: ZOMBIES }, () =>
        stage.worker({ urls: [server.url], leaseSecs: 1, maxJobs: JOBS_EACH, workMs: WORK_MS, heartbeats: false }),
      );
      await allAsk(stage, zombies);
      const jobs = Array.from({ length: ZOMBIES * JOBS_EACH }, () => ({
        task_name: 'work',
        config: { queue: 'remote', retry_delay_secs: 0, jitter_factor: 0 },
      }));
      const { body } = await client.batch(jobs);
      await stopAtWork(stage, zombies, body.job_ids as string[]);
      const taken = await takeOver(stage, client, jobs.length);
      for (const zombie of zombies) zombie.resume();
      await refused(stage, taken);
      for (const { id, token } of taken) {
        const { status } = await client.complete(id, token);
        stage.expect(status === 204, `the second holder's completion was answered ${status ?? 'not at all'}`);
      }
      await Promise.all(zombies.map((zombie) => zombie.kill()));
    }
    await stage.drained(database);
  },
};

/** Resolves when all of them have asked for jobs: the last one must not come when the first has done its own. */
async function allAsk(stage: Stage, zombies: readonly ManagedProcess[]): Promise<void> {
  const haveAsked = (): boolean => {
    stage.readJournals();
    const calls = stage.history.entries().map(({ call }) => call.id);
    return zombies.every(({ spec }) => calls.some((id) => id.startsWith(`${spec.name}:`)));
  };
  await stage.until(haveAsked, { what: 'the workers to ask for jobs' });
}

/** Stops them as soon as they hold all the jobs, well before they have done them. */
async function stopAtWork(stage: Stage, zombies: readonly ManagedProcess[], jobs: readonly string[]): Promise<void> {
  const wanted = new Set(jobs);
  const held = (): number => {
    stage.readJournals();
    const claims = stage.history.entries().flatMap(({ answer }) => answer?.claims ?? []);
    return new Set(claims.filter(({ job }) => wanted.has(job)).map(({ job }) => job)).size;
  };
  await stage.until(() => held() === wanted.size || `${held()} claimed`, { what: 'the workers to claim', everyMs: 5 });
  for (const zombie of zombies) zombie.pause();
}

async function takeOver(stage: Stage, client: ChaosClient, count: number): Promise<readonly LeasedJob[]> {
  const taken: LeasedJob[] = [];
  const probe = async (): Promise<boolean> => {
    taken.push(...(await client.lease('remote', { max: 100, secs: 60, wait: 5 })));
    return taken.length >= count;
  };
  await stage.until(probe, { what: 'the leases to be reclaimed' });
  return taken;
}

/** Every stopped worker reports every job it held, and is told that it no longer holds it. */
async function refused(stage: Stage, taken: readonly LeasedJob[]): Promise<void> {
  const ids = new Set(taken.map(({ id }) => id));
  const reports = (): readonly (number | null)[] => {
    stage.readJournals();
    return stage.history
      .entries()
      .filter(({ call, answer }) => call.op === 'complete' && ids.has(call.job ?? '') && answer !== null)
      .map(({ answer }) => answer?.status ?? null);
  };
  await stage.until(() => reports().length >= taken.length, { what: 'the zombies to report' });
  const accepted = reports().filter((status) => status !== 409);
  stage.expect(accepted.length === 0, `zombies were answered ${[...new Set(accepted)].join(', ')} instead of 409`);
}
