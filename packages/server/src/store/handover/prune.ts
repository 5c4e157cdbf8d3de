import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { rowsOf } from '../connection/one-connection.js';
import { sql } from './cell-row.js';

/**
 * Removes the rows of tenants that another database has taken over, page after page of each table, so that every step
 * is short whatever the tables hold. Whoever begins again looks at the pages again, which is quick where nothing is
 * left to remove.
 *
 * First, while nobody is served, the rows that make something happen: jobs that wait or run, schedules, operations.
 * Everything else goes while the database is being used. Tenants are last: the other rows are found by them.
 */
const LIVE = [
  'ready',
  'leases',
  'bundles',
  'crons',
  'operations',
  'waits',
  'workflow_runs',
  'parents',
  'signals',
  'followed',
  'limit_tokens',
  'limit_notes',
  'limit_returns',
  'limits',
];
const PAGES_CLOSED = 4_096;
const PAGES_OPEN = 256;
/** Of the time that pruning takes, so much is left to those who are served. */
const REST = 1;

export async function pruneLive(client: pg.Client): Promise<number> {
  let removed = 0;
  for (const table of LIVE) removed += await pruneTable(client, table, PAGES_CLOSED, 0);
  return removed;
}

export async function pruneRest(client: pg.Client): Promise<number> {
  const tables = (await rowsOf<{ tab: string }>(client, sql.tables_of_cell())).map(({ tab }) => tab);
  const rest = tables.filter((table) => !LIVE.includes(table) && table !== 'tenants');
  let removed = 0;
  for (const table of [...LIVE, ...rest, 'tenants']) removed += await pruneTable(client, table, PAGES_OPEN, REST);
  return removed;
}

async function pruneTable(client: pg.Client, tab: string, pages: number, rest: number): Promise<number> {
  let sum = 0;
  for (let page = 0; ; page += pages) {
    const startedAt = performance.now();
    const [row] = await rowsOf<{ removed: string | null }>(client, sql.prune_pages({ tab, first_page: page, pages }));
    if (row === undefined || row.removed === null) return sum;
    sum += Number(row.removed);
    if (rest > 0 && row.removed !== '0') await sleep((performance.now() - startedAt) * rest);
  }
}
