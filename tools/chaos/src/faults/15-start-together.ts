import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Proxy } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const TOGETHER = 10;
const ROUND_TRIP_MS = 20;
const MIGRATIONS = fileURLToPath(new URL('../sql/migrations/', import.meta.resolve('@millrace/server')));
const NAMES = readdirSync(MIGRATIONS)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => file.slice(0, -4));

/** A whole fleet starts at the same moment, on a database with no schema or with that of an earlier version. */
export const startTogether: Fault = {
  row: 15,
  name: 'ten processes start at once on an empty or an old schema',
  check: 'all serve, each migration applied once',
  unit: 'fleets',
  full: 100,
  everyday: 1,
  alone: true,
  async run(stage, count) {
    for (let fleet = 0; fleet < count; fleet++) {
      const database = await stage.database({ empty: true });
      const old = stage.random.integer(0, NAMES.length - 1);
      await makeOldSchema(database, NAMES.slice(0, old));
      const proxy = await stage.proxy(database);
      const servers = Array.from({ length: TOGETHER }, (_, n) =>
        stage.prepareServer({
          ...{ database, databaseUrl: proxy.url },
          ...{ mode: n % 2 === 0 ? 'all' : 'api', name: `fleet-${fleet}-${n}` },
        }),
      );
      await startAsOne(stage, servers, proxy);
      await Promise.all(servers.map((server) => serves(stage, server)));
      expectMigratedOnce(stage, servers, NAMES.slice(old));
      await stage.drained(database);
      await Promise.all(servers.map((server) => server.process.terminate()));
    }
  },
};

/**
 * A process takes longer to start than a migration takes to run, so they would come one after another. Instead the
 * database is unreachable at first, which they wait out; then all reach it at once, over a link slow enough for them to
 * overlap.
 */
async function startAsOne(stage: Stage, servers: readonly ServerProcess[], proxy: Proxy): Promise<void> {
  await proxy.cut();
  const started = Promise.all(servers.map((server) => server.start()));
  const waiting = (): boolean =>
    servers.every((server) => server.process.output().includes('does not answer; waiting'));
  // Not for ever: the servers do not wait for ever either.
  await stage.until(waiting, { withinMs: 20_000 }).catch(() => undefined);
  await proxy.restore();
  proxy.slow(() => ROUND_TRIP_MS / 2);
  await started;
}

/** What an earlier version left behind: the effect of its migrations, and their entries. */
async function makeOldSchema(database: Database, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  await database.query(`CREATE SCHEMA millrace; CREATE TABLE millrace.migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const name of names) {
    await database.query(readFileSync(`${MIGRATIONS}${name}.sql`, 'utf8'));
    const version = Number(name.slice(0, 4));
    await database.query('INSERT INTO millrace.migrations (version, name) VALUES ($1, $2)', [version, name]);
  }
}

async function serves(stage: Stage, server: ServerProcess): Promise<void> {
  const client = stage.client(server);
  const { status } = await client.create('echo', { config: QUICK });
  stage.expect(status === 201, `${server.name} answered a create with ${status}`);
  const ready = await client.send('other', 'GET', '/ready');
  stage.expect(ready.status === 200, `${server.name} is not ready: ${ready.status}`);
}

function expectMigratedOnce(stage: Stage, servers: readonly ServerProcess[], missing: readonly string[]): void {
  const applied = servers.flatMap((server) => appliedBy(server)).sort();
  const expected = [...missing].sort();
  stage.expect(applied.join() === expected.join(), `applied ${applied.join()} instead of ${expected.join()}`);
}

function appliedBy(server: ServerProcess): readonly string[] {
  return server.process
    .output()
    .split('\n')
    .filter((line) => line.includes('"migrated the database schema"'))
    .flatMap((line) => (JSON.parse(line) as { applied: string[] }).applied);
}
