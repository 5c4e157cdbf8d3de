import type { TestDatabase } from '../../../server/test/support/database.js';
import type { ServingProcess } from '../../../server/test/support/processes.js';
import { until } from '../../../server/test/support/until.js';

/**
 * A job is running from its claim on, and given back if the service stops before its handler has started. On a slow
 * machine it may have ended before anybody looked.
 */
export async function untilHandled(database: TestDatabase, { metricsUrl }: ServingProcess, id: string): Promise<void> {
  const busy = async (): Promise<boolean> =>
    /^millrace_pool_workers\{state="busy"\} [1-9]/m.test(await (await fetch(`${metricsUrl}/metrics`)).text());
  const ended = async (): Promise<boolean> => (await finalStatus(database, id)) !== undefined;
  await until(async () => (await busy()) || (await ended()), { what: 'the handler to run' });
}

export async function finalStatus(database: TestDatabase, id: string): Promise<unknown> {
  const [row] = await database.query('SELECT status FROM millrace.done WHERE id = $1', [id]);
  return row?.status;
}
