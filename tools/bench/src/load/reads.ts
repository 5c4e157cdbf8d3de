import { median } from '@millrace/tools-shared';
import { TENANT_KEY } from '../work.js';
import { Connection, expectStatus, get } from './connection.js';

/** Reads of several kinds, requested in turn on one connection. */
export interface ReadsAsked {
  readonly port: number;
  readonly paths: readonly string[];
  readonly times: number;
}

const WARM_TIMES = 3;

/** Resolves to the median of each in milliseconds. */
export async function timeReads({ port, paths, times }: ReadsAsked): Promise<number[]> {
  const connection = await Connection.open(port);
  const reads = paths.map((path) => ({ request: get(path, TENANT_KEY), ms: [] as number[] }));
  for (let n = -WARM_TIMES; n < times; n++) {
    for (const { request, ms } of reads) {
      const sentAt = performance.now();
      expectStatus(await connection.request(request), 200);
      if (n >= 0) ms.push(performance.now() - sentAt);
    }
  }
  connection.close();
  return reads.map(({ ms }) => median(ms));
}
