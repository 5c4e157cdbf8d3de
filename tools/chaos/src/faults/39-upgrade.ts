import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyBuild, unpackRelease } from '../build-copy.js';
import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { startBalancer, type Balancer } from '../support/balancer.js';
import { expectNoFailedRequest } from '../support/failed-requests.js';
import { startLoad } from '../support/load.js';
import { expectNoHarm } from '../support/mixed-versions.js';

const RELEASE = fileURLToPath(new URL('../../releases/previous.tgz', import.meta.url));

/**
 * Servers behind a load balancer are replaced one after another by the next version, whose first start migrates the
 * database, and then by the old version again. In between both versions serve side by side.
 */
export const upgrade: Fault = {
  row: 39,
  name: 'a rolling upgrade and the way back, under load',
  check: 'no failed request, no expired lease, old and new processes ready side by side',
  unit: 'upgrades and returns',
  full: 10,
  everyday: 1,
  rare: true,
  alone: true,
  async run(stage, count) {
    const [before, after] = versions(stage);
    // Made by the old version, as a running system would be.
    const database = await stage.database({ empty: true });
    const servers = await Promise.all([1, 2].map(() => stage.server({ database, program: before })));
    const balancer = await startBalancer(servers);
    try {
      const load = startLoad(stage, [balancer.url], { leaseSecs: 10, maxJobs: 10, waitSecs: 2 });
      for (let turn = 0; turn < count; turn++) {
        await roll(stage, { servers, balancer, program: after, mixed: turn === 0 && before !== stage.millrace });
        await roll(stage, { servers, balancer, program: before });
      }
      await load.stopProducing();
      await stage.drained(database);
      await load.stopWorking();
      expectNoFailedRequest(stage);
      await expectMigrated(stage, database);
    } finally {
      await balancer.close();
    }
  },
};

interface Rolling {
  readonly servers: readonly ServerProcess[];
  readonly balancer: Balancer;
  readonly program: string;
  /** Whether to see, once both run side by side, what the older program does to what it does not know. */
  readonly mixed?: boolean;
}

async function roll(stage: Stage, { servers, balancer, program, mixed = false }: Rolling): Promise<void> {
  for (const [n, server] of servers.entries()) {
    await stage.sleep(stage.random.between(100, 500));
    balancer.takeOut(server);
    await server.process.terminate();
    server.useProgram(program);
    await server.start();
    balancer.putBack(server);
    for (const { name, url } of servers) {
      const { status } = await fetch(`${url}/ready`);
      stage.expect(status === 200, `${name} was not ready (${status}) while versions were mixed`);
    }
    if (mixed && n === 0) await expectNoHarm(stage, servers[1]!, server);
  }
}

/**
 * The old version and the next one: the release that is kept, or this build, and this build. A build with no migration
 * that the old version lacks gets one more, because an upgrade that changes no table proves little.
 */
function versions(stage: Stage): readonly [string, string] {
  const before = existsSync(RELEASE) ? unpackRelease(stage.folder('previous'), RELEASE) : stage.millrace;
  if (before === stage.millrace) stage.note('no earlier release is kept: upgraded from this build');
  if (newestMigration(stage.millrace) > newestMigration(before)) return [before, stage.millrace];
  stage.note('upgraded to a copy of this build with one more migration');
  return [before, nextVersion(stage)];
}

/** The number of the newest migration of the version with this command line. */
function newestMigration(program: string): number {
  const names = readdirSync(join(program, '../../../server/sql/migrations'));
  return Math.max(...names.map((name) => Number.parseInt(name, 10)).filter(Number.isFinite));
}

/** What a version may do while the one before still serves: add a table, a column, an index. */
function nextVersion(stage: Stage): string {
  const newest = newestMigration(stage.millrace);
  const text = `-- oldest program: ${newest}
    CREATE TABLE millrace.added_later (id uuid PRIMARY KEY);
    ALTER TABLE millrace.jobs ADD COLUMN added_later integer;
    ALTER TABLE millrace.leases ADD COLUMN added_later text;`;
  const file = `server/sql/migrations/${String(newest + 1).padStart(4, '0')}_added_later.sql`;
  return copyBuild(stage.folder('next'), [], [{ file, text }]);
}

async function expectMigrated(stage: Stage, database: Database): Promise<void> {
  // No job was told to fail, so a job that was retried had lost its lease.
  const expired = await database.count('millrace.job_records WHERE retry_count > 0');
  stage.expect(expired === 0, `${expired} jobs lost their lease`);
  const migrations = await database.count('millrace.migrations WHERE oldest < version');
  stage.expect(migrations > 0, 'the next version had no migration that the old one could live with');
}
