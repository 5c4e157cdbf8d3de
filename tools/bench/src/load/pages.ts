import { median } from '@millrace/tools-shared';
import { TENANT_KEY } from '../work.js';
import { Connection, expectStatus, get } from './connection.js';

/** Some pages of one list, requested in turn on one connection. */
export interface PagesAsked {
  readonly port: number;
  /** The query string without `cursor` and `limit`. */
  readonly filter: string;
  /** Null for the first page, otherwise the page that follows the last job created before this time. */
  readonly before: readonly (string | null)[];
  readonly times: number;
}

interface Page {
  readonly jobs: readonly unknown[];
  readonly next_cursor?: string;
}

const LIMIT = 50;
const WARM_TIMES = 3;

/** Resolves to the median of each page in milliseconds. */
export async function timePages({ port, filter, before, times }: PagesAsked): Promise<number[]> {
  const connection = await Connection.open(port);
  const ask = async (position: string): Promise<Page> => {
    const reply = await connection.request(get(`/api/v1/jobs?limit=${LIMIT}&${filter}${position}`, TENANT_KEY));
    expectStatus(reply, 200);
    return JSON.parse(reply.body.toString('utf8')) as Page;
  };
  const pages: { readonly position: string; readonly ms: number[] }[] = [];
  for (const instant of before) pages.push({ position: instant === null ? '' : await cursorAt(ask, instant), ms: [] });
  for (let n = -WARM_TIMES; n < times; n++) {
    for (const { position, ms } of pages) {
      const sentAt = performance.now();
      const { jobs } = await ask(position);
      if (n >= 0) ms.push(performance.now() - sentAt);
      if (jobs.length !== LIMIT) throw new Error(`a page of ${filter || 'all'} has ${jobs.length} jobs, not ${LIMIT}`);
    }
  }
  connection.close();
  return pages.map(({ ms }) => median(ms));
}

/** A cursor says only where a page ended, so one obtained with a time range also works without it. */
async function cursorAt(ask: (position: string) => Promise<Page>, before: string): Promise<string> {
  const { next_cursor: cursor } = await ask(`&created_before=${encodeURIComponent(before)}`);
  if (cursor === undefined) throw new Error(`the list ends before ${before}`);
  return `&cursor=${encodeURIComponent(cursor)}`;
}
