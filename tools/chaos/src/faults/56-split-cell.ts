import { execFile } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { viaPort } from '@millrace/tools-shared';
import type { Fault } from '../fault.js';
import { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import {
  creates,
  endOnCells,
  keysOf,
  listFile,
  startCellsLoad,
  tenantsIn,
  untilServed,
  usesList,
  writeList,
  type Tenant,
} from '../support/cells.js';
import { startRelay, type Relay } from '../support/relay.js';
import { Replica } from '../support/replica.js';

const BACK_WITHIN_MS = 30_000;

/**
 * A database is split under load: a standby is made and takes over the upper half of the tenants that are left. The
 * command is killed at any moment, and run again until it ends. One server gets the new list later than the other.
 */
export const splitCell: Fault = {
  row: 56,
  name: 'a cell split onto its standby under load, the command killed',
  check: 'each job in one half, both sound, old lists refused, served again in 30 s',
  unit: 'splits',
  full: 6,
  everyday: 1,
  alone: true,
  rare: true,
  unavailable: () => (process.platform === 'linux' ? null : 'it needs /proc to find the processes of PostgreSQL'),
  async run(stage, count) {
    const cluster = await stage.cluster({ wal_keep_size: '1GB' });
    const source = await stage.database({ on: cluster });
    const primary = await Replica.adopt(cluster.launch);
    const home = join(dirname(cluster.launch.dataDir), 'standbys');
    mkdirSync(home);
    const file = listFile(stage);
    writeList(file, [{ name: 'a', first: 0, last: 65_535, url: source.url }]);
    const tenants = movedBySplits(count);
    const env = keysOf(tenants);
    const common = { database: source, cells: file, env };
    const servers = [await stage.server(common), await stage.server({ ...common, mode: 'api' })];
    const urls = servers.map(({ url }) => url);
    const load = startCellsLoad(stage, urls, tenants, { leaseSecs: 20 });
    for (let n = 1; n <= count; n++) {
      const standby = await primary.createFollower(join(home, `standby-${n}`));
      const relay = await startRelay(standby.socketPath);
      const target = new SplitDatabase(source.name, viaPort(source.url, relay.port), standby, relay);
      await stage.sleep(stage.random.between(300, 1_500));
      const backMs = await stage.outage(() => split(stage, { n, file, target, servers, tenants }));
      stage.databases.push(target);
      stage.expectWithin(BACK_WITHIN_MS, backMs, `split ${n}: served again`);
    }
    await endOnCells(stage, stage.databases, load);
  },
};

/** One tenant that stays to the end, and then one for each split, the last first: that one takes it along. */
const movedBySplits = (count: number): readonly Tenant[] =>
  tenantsIn(2 ** count).filter((_, part) => part === 0 || Number.isInteger(Math.log2(part)));

interface Split {
  readonly n: number;
  readonly file: string;
  readonly target: Database;
  readonly servers: readonly ServerProcess[];
  readonly tenants: readonly Tenant[];
}

/** Resolves to how long it took until every server served everybody again. */
async function split(stage: Stage, { n, file, target, servers, tenants }: Split): Promise<number> {
  const startedAt = performance.now();
  const next = `${file}.new`;
  const words = ['cells', 'split', 'a', '--name', `b${n}`, '--cells', file, '--list', next, '--promote'];
  let kills = 0;
  for (;;) {
    const killMs = kills < 3 ? stage.random.between(300, 2_500) : 0;
    const { code, text } = await command(stage.millrace, words, { MILLRACE_TARGET_URL: target.url }, killMs);
    if (code === 0) break;
    if (code !== null) throw new Error(`the split failed: ${text}`);
    kills += 1;
  }
  renameSync(next, file);
  const [first, second] = servers;
  await usesList(stage, first!);
  const stale = stage.client(second!, { tenantKey: tenants.at(-n)!.tenantKey });
  stage.expect(!(await creates(stale)), 'a server with the old list still creates jobs');
  await usesList(stage, second!);
  await untilServed(stage, servers, tenants);
  stage.note(`split ${n}: ${kills} kills`);
  return performance.now() - startedAt;
}

/** `code` is null if it was killed, which it is after so many milliseconds unless that is 0. */
function command(
  millrace: string,
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
  killMs: number,
): Promise<{ readonly code: number | null; readonly text: string }> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...variables };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [millrace, ...words], { env }, (error, stdout, stderr) => {
      clearTimeout(timer);
      const code = error === null ? 0 : child.exitCode;
      resolve({ code, text: `${stdout}${stderr}`.trim() });
    });
    const timer = killMs > 0 ? setTimeout(() => child.kill('SIGKILL'), killMs) : undefined;
  });
}

/** The half on what was the standby; dropping it disposes of that. */
class SplitDatabase extends Database {
  constructor(
    name: string,
    url: string,
    private readonly replica: Replica,
    private readonly relay: Relay,
  ) {
    super({ query: () => Promise.reject(new Error('it is asked by its own address')) }, name, url);
  }

  override async drop(): Promise<void> {
    await this.relay.close();
    await this.replica.kill();
  }
}
