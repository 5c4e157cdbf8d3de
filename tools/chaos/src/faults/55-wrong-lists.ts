import { writeFileSync } from 'node:fs';
import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import {
  endOnCells,
  refusesList,
  startCellsLoad,
  startOnCells,
  untilServed,
  usesList,
  writeList,
  type ListedCell,
} from '../support/cells.js';

/** Servers are given lists that are wrong in every way, by SIGHUP and at a start, while they work with a right one. */
export const wrongLists: Fault = {
  row: 55,
  name: 'wrong lists of cells, by SIGHUP and at a start',
  check: 'refused with a reason, the old list stays in force, no tenant in two cells',
  unit: 'rounds',
  full: 20,
  everyday: 1,
  rare: true,
  async run(stage, count) {
    const databases = [await stage.database(), await stage.database()];
    const empty = await stage.database();
    const { tenants, servers, urls, file, list: right, common } = await startOnCells(stage, databases);
    const load = startCellsLoad(stage, urls, tenants);
    for (let round = 0; round < count; round++)
      for (const write of wrong(file, right, empty)) {
        write();
        for (const server of servers) await refusesList(stage, server);
      }
    for (const [name, list] of [
      ['swapped', swapped(right)],
      ['empty', withOther(right, empty.url)],
    ] as const) {
      writeList(file, list);
      await refusesToStart(stage, stage.prepareServer({ ...common, name: `server-${name}` }));
    }
    await expectUnused(stage, empty);
    writeList(file, right);
    for (const server of servers) await usesList(stage, server);
    await untilServed(stage, servers, tenants);
    await endOnCells(stage, databases, load);
  },
};

const swapped = ([one, other]: readonly ListedCell[]): ListedCell[] => [
  { ...one!, url: other!.url },
  { ...other!, url: one!.url },
];

const withOther = ([one, other]: readonly ListedCell[], url: string): ListedCell[] => [one!, { ...other!, url }];

function wrong(file: string, right: readonly ListedCell[], empty: Database): (() => void)[] {
  const [one, other] = right as readonly [ListedCell, ListedCell];
  return [
    () => writeFileSync(file, 'no JSON'),
    () => writeList(file, [one]),
    () => writeList(file, [one, { ...other, first: other.first + 1 }]),
    () =>
      writeList(file, [
        { ...one, last: one.last + 9 },
        { ...other, first: other.first + 10 },
      ]),
    () => writeList(file, swapped(right)),
    () => writeList(file, withOther(right, 'postgres://nobody@127.0.0.1:9/nothing')),
    () => writeList(file, withOther(right, empty.url)),
    () => writeList(file, [{ ...one, first: 0, last: 65_535 }]),
  ];
}

async function refusesToStart(stage: Stage, server: ServerProcess): Promise<void> {
  const process = server.launch();
  await process.exitsByItself();
  const isRefused = /is listed with|is it the right one/.test(process.output());
  stage.expect(isRefused, `a start with a wrong list said: ${process.output()}`);
}

/** Nobody has taken it for a part of the service. */
async function expectUnused(stage: Stage, database: Database): Promise<void> {
  const whole = await database.count('millrace.cell WHERE first_bucket = 0 AND last_bucket = 65535');
  stage.expect(whole === 1, 'an empty database in a wrong list was made a cell');
}
