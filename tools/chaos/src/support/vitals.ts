import { median, readMetrics } from '@millrace/tools-shared';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

/** What must stay flat however long a server runs. */
export interface Vitals {
  readonly memory: number;
  readonly handles: number;
  /** Size of the tables whose rows come and go. */
  readonly queueBytes: number;
}

export async function takeVitals(server: ServerProcess, database: Database): Promise<Vitals> {
  const metric = await readMetrics(server.metricsUrl);
  const [row] = await database.query<{ bytes: string }>(
    `SELECT sum(pg_total_relation_size(('millrace.' || name)::regclass)) AS bytes
     FROM unnest(ARRAY['ready', 'leases', 'bundles']) AS name`,
  );
  return {
    memory: metric('process_resident_memory_bytes'),
    handles: metric('process_open_fds'),
    queueBytes: Number(row?.bytes),
  };
}

/** Most growth from the second to the last quarter. The first quarter is when caches and pools fill. */
const MOST_GROWTH: Readonly<Record<keyof Vitals, number>> = { memory: 1.3, handles: 1.3, queueBytes: 2 };
const ENOUGH_SAMPLES = 40;

export function expectFlat(stage: Stage, samples: readonly Vitals[]): void {
  if (samples.length < ENOUGH_SAMPLES) return stage.note('too short to judge growth');
  const quarter = Math.floor(samples.length / 4);
  const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)];
  for (const [name, most] of Object.entries(MOST_GROWTH) as [keyof Vitals, number][]) {
    const [before, now] = [median(early.map((vitals) => vitals[name])), median(late.map((vitals) => vitals[name]))];
    const text = `${name} went from ${Math.round(before)} to ${Math.round(now)}`;
    stage.expect(!(now > before * most), text);
    stage.note(text);
  }
}
