import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bucketOf } from '@millrace/server/testing';
import type { ChaosClient } from '../history/client.js';
import { QUICK, type ActorOptions } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ManagedProcess } from '../stage/processes.js';
import { TENANT_KEY, type ServerOptions, type ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** A service on several databases. */
export interface ListedCell {
  readonly name: string;
  readonly first: number;
  readonly last: number;
  readonly url: string;
}

const BUCKETS = 65_536;

export function writeList(file: string, cells: readonly ListedCell[]): void {
  const list = cells.map(({ name, first, last, url }) => ({ name, buckets: `${first}-${last}`, database_url: url }));
  writeFileSync(file, JSON.stringify(list), { mode: 0o600 });
}

/** Databases with ranges of the same size. */
function listed(databases: readonly Database[]): ListedCell[] {
  const from = (n: number): number => Math.floor((n * BUCKETS) / databases.length);
  return databases.map(({ url }, n) => ({ name: `c${n + 1}`, first: from(n), last: from(n + 1) - 1, url }));
}

/** A tenant in each part of the buckets, with its key. */
export interface Tenant {
  readonly tenantKey: string;
  readonly name: string;
}

export function tenantsIn(parts: number): readonly Tenant[] {
  return Array.from({ length: parts }, (_, part) => {
    for (let n = 0; ; n++) {
      const name = `tenant-${n}`;
      if (Math.floor((bucketOf(name) * parts) / BUCKETS) === part) return { name, tenantKey: `${TENANT_KEY}-${part}` };
    }
  });
}

export const keysOf = (tenants: readonly Tenant[]): Readonly<Record<string, string>> => ({
  MILLRACE_API_KEYS: tenants.map(({ tenantKey, name }) => `${tenantKey}:${name}`).join(','),
});

export interface CellsLoad {
  stopProducing(): Promise<void>;
  stopWorking(): Promise<void>;
}

/** Jobs of every tenant, for remote workers and for the pools of the servers. */
export function startCellsLoad(
  stage: Stage,
  urls: readonly string[],
  tenants: readonly Tenant[],
  worker: Omit<ActorOptions, 'urls'> = {},
): CellsLoad {
  const producers = tenants.flatMap(({ tenantKey }) => [
    stage.producer({ urls, tenantKey, pauseMs: 20 }),
    stage.producer({ urls, tenantKey, pauseMs: 20, queue: 'default', task: 'echo' }),
  ]);
  const workers = [stage.worker({ urls, ...worker }), stage.worker({ urls, ...worker })];
  const ended = async (all: readonly ManagedProcess[]): Promise<void> =>
    void (await Promise.all(all.map((process) => process.terminate())));
  return { stopProducing: () => ended(producers), stopWorking: () => ended(workers) };
}

export async function creates(client: ChaosClient): Promise<boolean> {
  return (await client.create('echo', { config: QUICK })).status === 201;
}

const READ = 'read the list of cells again';
const REFUSED = 'could not use the list of cells; the old one stays';

const said = (server: ServerProcess, text: string): number =>
  server.process.lines().filter(({ msg }) => msg === text).length;

/** Tells it to read its list again, which it must refuse. */
export async function refusesList(stage: Stage, server: ServerProcess): Promise<void> {
  const before = said(server, REFUSED);
  server.process.hangUp();
  await stage.until(() => said(server, REFUSED) > before, { what: `${server.name} to refuse the list` });
}

/** Tells it to read its list again; once more, as an operator does, whenever a database took too long to answer. */
export async function usesList(stage: Stage, server: ServerProcess): Promise<void> {
  const before = said(server, READ);
  let refusals = said(server, REFUSED);
  server.process.hangUp();
  const isUsed = (): boolean => {
    if (said(server, READ) > before) return true;
    if (said(server, REFUSED) > refusals) {
      refusals = said(server, REFUSED);
      server.process.hangUp();
    }
    return false;
  };
  await stage.until(isUsed, { what: `${server.name} to use the list` });
}

/** Until every server serves every one of these tenants. Resolves to how long it took. */
export async function untilServed(
  stage: Stage,
  servers: readonly ServerProcess[],
  tenants: readonly Tenant[],
): Promise<number> {
  const startedAt = performance.now();
  const waits = servers.flatMap((server) =>
    tenants.map(({ tenantKey, name }) => {
      const client = stage.client(server, { tenantKey });
      return stage.until(() => creates(client), { what: `${server.name} to serve ${name}` });
    }),
  );
  await Promise.all(waits);
  return performance.now() - startedAt;
}

/** No job may be in two databases. */
export async function expectApart(stage: Stage, databases: readonly Database[]): Promise<void> {
  const seen = new Set<string>();
  for (const database of databases)
    for (const { id } of await database.query<{ id: string }>('SELECT id::text FROM millrace.jobs')) {
      stage.expect(!seen.has(id), `job ${id} is in two databases`);
      seen.add(id);
    }
}

export interface CellsService {
  readonly databases: readonly Database[];
  /** The list that the servers have been given, and the file in which it is. */
  readonly list: readonly ListedCell[];
  readonly file: string;
  /** One in each cell. */
  readonly tenants: readonly Tenant[];
  /** What all of the servers have in common, for further ones. */
  readonly common: ServerOptions;
  readonly servers: readonly ServerProcess[];
  readonly urls: readonly string[];
}

/** Servers of these modes on all of the databases, which share the tenants evenly. */
export async function startOnCells(
  stage: Stage,
  databases: readonly Database[],
  {
    modes = ['all', 'api'],
    ...options
  }: Pick<ServerOptions, 'args'> & { readonly modes?: readonly ServerOptions['mode'][] } = {},
): Promise<CellsService> {
  const file = listFile(stage);
  const list = listed(databases);
  writeList(file, list);
  const tenants = tenantsIn(databases.length);
  const common = { database: databases[0]!, cells: file, env: keysOf(tenants), ...options };
  const servers = await Promise.all(modes.map((mode) => stage.server({ ...common, ...(mode && { mode }) })));
  return { databases, list, file, tenants, common, servers, urls: servers.map(({ url }) => url) };
}

/** Ends the load and lets everything be worked off. Then no job may be in two databases. */
export async function endOnCells(stage: Stage, databases: readonly Database[], load: CellsLoad): Promise<void> {
  await load.stopProducing();
  for (const database of databases) {
    await database.expirePoolLeases();
    await stage.drained(database);
  }
  await load.stopWorking();
  await expectApart(stage, databases);
}

export const listFile = (stage: Stage): string => join(stage.folder('cells'), 'cells.json');
