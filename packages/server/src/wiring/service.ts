import { CellsClaimer } from '../cells/claimer.js';
import { newsOf } from '../cells/news.js';
import { createRoom } from '../cells/room.js';
import type { CellAddress } from '../config/cell-list.js';
import { CellMap } from '../domain/cells.js';
import type { LeasedJob } from '../domain/records.js';
import type { Engine } from '../engine/api.js';
import type { Claimer } from '../engine/leases/claim.js';
import { LongPolls, type WorkNews } from '../engine/leases/long-poll.js';
import type { RunningCell } from './start-cell.js';

/** The service as its callers and its pool see it, on however many databases. */
export interface Service {
  readonly api: Engine;
  readonly polls: LongPolls;
  readonly claimer: Pick<Claimer, 'claim' | 'nextDue'>;
  readonly news: WorkNews;
  readonly cellOfJob: (id: string) => number;
  /** At least one database can be worked on. */
  readonly ready: () => Promise<boolean>;
}

/** With one database there is nothing in between: it is the engine on it. */
export function serviceOn(
  cells: readonly RunningCell[],
  addresses: readonly CellAddress[],
  safetyPollMs: number | undefined,
): Service {
  const [first, ...others] = cells;
  if (first === undefined) throw new Error('there is no database');
  if (others.length > 0) return serviceOnSeveral(cells, new CellMap(addresses), safetyPollMs);
  const { api, polls, claimer, hub: news } = first.engine;
  return { api, polls, claimer, news, cellOfJob: () => 0, ready: first.ready };
}

function serviceOnSeveral(cells: readonly RunningCell[], map: CellMap, safetyPollMs: number | undefined): Service {
  const claimer = new CellsClaimer(cells);
  const news = newsOf(cells.map(({ engine }) => engine.hub));
  const cellOfJob = (id: string): number => map.ofId(id);
  const undeliver = async (jobs: readonly LeasedJob[]): Promise<void> => {
    const give = (leased: LeasedJob) => cells[cellOfJob(leased.job.id)]!.engine.settler.giveBack(leased, 'undelivered');
    await Promise.all(jobs.map(give));
  };
  const polls = new LongPolls(claimer, news, { undeliver }, safetyPollMs);
  const ready = async (): Promise<boolean> => (await Promise.all(cells.map((cell) => cell.ready()))).some(Boolean);
  return { api: createRoom({ cells, map, polls, ready }), polls, claimer, news, cellOfJob, ready };
}
