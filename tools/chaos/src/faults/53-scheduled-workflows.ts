import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { judgeSchedules } from '../support/scheduled-workflows.js';

const OVERLAPS = ['allow', 'skip'] as const;
/** Longer than a second, so that some occurrences find the last workflow unfinished. */
const NAP_MS = 1_300;

/**
 * Schedules that start a workflow every second, one of which skips while the last has not ended. Schedulers are killed,
 * often right on the second, while people trigger the same schedules by hand.
 */
export const scheduledWorkflows: Fault = {
  row: 53,
  name: 'schedules that start workflows, three schedulers, kills and triggers by hand',
  check: 'each due occurrence starts one workflow or is recorded as skipped; those that skip never overlap',
  unit: 'kills',
  full: 200,
  everyday: 6,
  rare: true,
  async run(stage, count) {
    const database = await stage.database();
    const args = ['--max-db-connections=4', '--workers=4'];
    const servers = await Promise.all(
      (['all', 'all', 'worker'] as const).map((mode) => stage.server({ database, mode, args })),
    );
    const [one, two] = servers.map((server) => stage.client(server)) as [ChaosClient, ChaosClient];
    const ids = await Promise.all(OVERLAPS.map((overlap) => put(one, overlap)));
    let kills = 0;
    const going = (): boolean => kills < count;
    const triggering = [one, two].map((client) => trigger(stage, client, ids, going));
    const down = new Map<ServerProcess, Promise<void>>();
    while (going()) {
      await nearTheSecond(stage);
      // One of them is left to fire.
      if (down.size === servers.length - 1) await Promise.race(down.values());
      const victim = stage.random.pick(servers.filter((server) => !down.has(server)));
      down.set(
        victim,
        restarted(stage, victim).finally(() => down.delete(victim)),
      );
      kills++;
      await database.expirePoolLeases();
    }
    await Promise.all([...triggering, ...down.values()]);
    await database.query('UPDATE millrace.crons SET enabled = false');
    // What a killed pool held is not held any more.
    const ended = async (): Promise<true | string> => {
      await database.expirePoolLeases();
      const live = await database.liveJobs();
      return live === 0 || `${live} jobs left`;
    };
    await stage.until(ended, { what: 'every workflow to end', everyMs: 2_000 });
    const { kinds } = await judgeSchedules(stage, database);
    stage.note(`firings: ${JSON.stringify(Object.fromEntries(kinds))}`);
    for (const kind of ['on_time', 'skipped', 'triggered'])
      stage.expect(kinds.has(kind), `no firing was ${kind}: not everything was tested`);
  },
};

async function put(client: ChaosClient, overlap: (typeof OVERLAPS)[number]): Promise<string> {
  const nap = { name: 'nap', task_name: 'sleep', payload: { duration_ms: NAP_MS }, config: QUICK };
  const end = { name: 'end', task_name: 'echo', depends_on: ['nap'], config: QUICK };
  const body = { cron_expr: '* * * * * *', overlap, workflow: { name: overlap, steps: [nap, end] } };
  const reply = await client.send('other', 'PUT', `/api/v1/cron/${overlap}`, { body });
  if (reply.status !== 201) throw new Error(`the schedule was not created: ${reply.status ?? 'no answer'}`);
  return String(reply.body.cron_id);
}

/** Any moment will do, but within a few milliseconds of the second a scheduler is about to fire. */
async function nearTheSecond(stage: Stage): Promise<void> {
  await stage.sleep(stage.random.between(100, 600));
  if (stage.random.chance(0.6)) await stage.sleep(1_000 - (Date.now() % 1_000) + stage.random.between(0, 25));
}

/** Handled here: nobody awaits it any more once the row has been given up. */
const restarted = (stage: Stage, server: ServerProcess): Promise<void> =>
  server
    .crashAndRestart()
    .catch((error: unknown) => stage.violation(`a scheduler did not come back: ${String(error)}`));

async function trigger(stage: Stage, client: ChaosClient, ids: readonly string[], going: () => boolean): Promise<void> {
  while (going()) {
    await stage.sleep(stage.random.between(500, 2_500));
    await nearTheSecond(stage);
    await client.send('other', 'POST', `/api/v1/cron/${stage.random.pick(ids)}/trigger`);
  }
}
