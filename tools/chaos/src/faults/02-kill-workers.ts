import type { Fault } from '../fault.js';
import type { Stage } from '../stage/stage.js';

const LEASE_SECS = 2;
/** The janitor sweeps every five seconds; two more allow for a busy machine. */
const RECLAIMED_WITHIN_MS = LEASE_SECS * 1_000 + 7_000;
const AT_A_TIME = 4;

/** Workers are killed while they hold jobs. Each of those jobs must be claimed again soon after its lease expires. */
export const killWorkers: Fault = {
  row: 2,
  name: 'kill -9 remote workers',
  check: 'reclaimed within lease + 7 s',
  unit: 'kills',
  full: 500,
  everyday: 4,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database, mode: 'api' });
    const urls = [server.url];
    for (let killed = 0; killed < count; killed += AT_A_TIME) {
      const victims = Array.from({ length: Math.min(AT_A_TIME, count - killed) }, () =>
        stage.worker({ urls, leaseSecs: LEASE_SECS, maxJobs: 3, workMs: [20, 1_500] }),
      );
      await stage.producer({ urls, jobs: 40, batch: 20 }).exited;
      await Promise.all(
        victims.map(async (victim) => {
          await stage.sleep(stage.random.between(400, 1_200));
          await victim.kill();
        }),
      );
      await reclaimed(stage, urls);
    }
    await stage.drained(database);
  },
};

/** A survivor takes over all jobs; none may stay with the dead workers. */
async function reclaimed(stage: Stage, urls: readonly string[]): Promise<void> {
  const [database] = stage.databases;
  const survivor = stage.worker({ urls, leaseSecs: 30, maxJobs: 50, workMs: [1, 5] });
  const startedAt = performance.now();
  if (database) await stage.drained(database);
  stage.expectWithin(
    RECLAIMED_WITHIN_MS,
    performance.now() - startedAt,
    'the jobs of dead workers were reclaimed and done',
  );
  await survivor.terminate();
}
