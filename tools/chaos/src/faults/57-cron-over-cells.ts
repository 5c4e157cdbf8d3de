import type { Fault } from '../fault.js';
import { expectApart, startOnCells } from '../support/cells.js';
import { createEverySecond, doubleFirings, firings } from '../support/schedules.js';

/** An every-second schedule in each of two cells, fired by processes that serve both and are killed on the second. */
export const cronOverCells: Fault = {
  row: 57,
  name: 'every-second crons in two cells, four schedulers, random kills',
  check: 'one job per occurrence in each cell',
  unit: 'occurrences',
  full: 900,
  everyday: 6,
  rare: true,
  async run(stage, count) {
    const databases = [await stage.database(), await stage.database()];
    const { tenants, servers } = await startOnCells(stage, databases, {
      modes: ['all', 'worker', 'worker', 'worker'],
      args: ['--max-db-connections=4', '--workers=2'],
    });
    const [first, ...schedulers] = servers;
    for (const { tenantKey } of tenants) await createEverySecond(stage.client(first!, { tenantKey }));
    let kills = 0;
    const fired = async (): Promise<number> =>
      Math.min(...(await Promise.all(databases.map(async (database) => (await firings(database)).length))));
    while ((await fired()) < count) {
      await stage.sleep(1_000 - (Date.now() % 1_000) + stage.random.between(0, 25));
      await stage.random.pick(schedulers).crashAndRestart();
      kills += 1;
    }
    for (const database of databases) {
      await database.query('UPDATE millrace.crons SET enabled = false');
      for (const twice of await doubleFirings(database)) stage.violation(twice);
      await database.expirePoolLeases();
      await stage.drained(database);
    }
    await expectApart(stage, databases);
    stage.note(`${kills} kills`);
  },
};
