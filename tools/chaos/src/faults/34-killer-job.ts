import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';

const NEIGHBOURS = 1_000;
/** See preload/killer.ts. */
const KILLER = 'fail';
/** The most that come before the killer: what a process was lost with starts one by one, so these take a while. */
const AHEAD = 100;
/** As many as a job of this policy survives: a neighbour that pays for two deaths is a dead letter. */
const MAX_RETRIES = 1;
const POLICY = { retry_delay_secs: 0, jitter_factor: 0, max_retries: MAX_RETRIES } as const;

/** A job takes down every process that runs it, among many that do no harm. Only that one may fail. */
export const killerJob: Fault = {
  row: 34,
  name: 'a job that kills its process, among a thousand neighbours',
  check: 'every neighbour completes, none is a dead letter',
  unit: 'killers',
  full: 20,
  everyday: 1,
  rare: true,
  async run(stage, count) {
    const database = await stage.database();
    const client = stage.client(await stage.server({ database, mode: 'api' }));
    const preload = new URL('../preload/killer.js', import.meta.url).href;
    const worker = stage.prepareServer({ database, mode: 'worker', nodeArgs: ['--import', preload] });
    const job = (task_name: string) => ({ task_name, config: POLICY });
    for (let killer = 1; killer <= count; killer++) {
      const jobs = Array.from({ length: NEIGHBOURS - 1 }, () => job('echo'));
      jobs.splice(stage.random.integer(0, AHEAD), 0, job(KILLER));
      await client.batch(jobs);
      await client.create('echo', { config: POLICY });
      for (let deaths = 0; deaths <= MAX_RETRIES; deaths++) {
        await worker.launch().exitsByItself(120_000);
        await reclaimed(stage, database);
      }
      const survivor = await worker.start();
      await stage.drained(database);
      await survivor.process.terminate();
    }
    await expectHarmless(stage, database, count);
  },
};

/** What the dead process held has expired, and the janitor of the other server has come. */
async function reclaimed(stage: Stage, database: Database): Promise<void> {
  await database.expirePoolLeases();
  await stage.until(async () => (await database.count('millrace.running')) === 0, {
    what: 'the sweep after a death',
    everyMs: 50,
  });
}

async function expectHarmless(stage: Stage, database: Database, killers: number): Promise<void> {
  const harmed = await database.count(
    `millrace.dead_letters d JOIN millrace.job_records j ON j.id = d.job_id WHERE j.task <> '${KILLER}'`,
  );
  stage.expect(harmed === 0, `${harmed} neighbours of a killer are dead letters`);
  const completed = await database.count(`millrace.job_records WHERE status = 'completed' AND task = 'echo'`);
  stage.expect(completed === killers * NEIGHBOURS, `${completed} of ${killers * NEIGHBOURS} neighbours completed`);
  const failed = await database.count(`millrace.job_records WHERE status = 'failed' AND task = '${KILLER}'`);
  stage.expect(failed === killers, `${failed} of ${killers} killers failed`);
  const paid = await database.count(`millrace.job_records WHERE task = 'echo' AND retry_count > 0`);
  stage.note(`${paid} of ${killers * NEIGHBOURS} neighbours paid a retry`);
}
