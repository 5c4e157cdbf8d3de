import { CellsClaimer } from '../cells/claimer.js';
import { CellsNews } from '../cells/news.js';
import { engineOver } from '../cells/engine.js';
import type { LeasedJob } from '../domain/records.js';
import type { Engine } from '../engine/api.js';
import { LongPolls, type WorkNews } from '../engine/leases/long-poll.js';
import type { PoolClaims } from '../pool/worker-pool.js';
import type { LiveCells } from './live-cells.js';

/** The service as its callers and its pool see it, on however many databases. */
export interface Service {
  readonly api: Engine;
  readonly polls: LongPolls;
  readonly claimer: PoolClaims;
  readonly news: WorkNews;
  /** The place of its cell among them; null: there is one database, for good. */
  readonly cellOfJob: ((id: string) => number) | null;
  /** The cells are others, or hold other tenants. */
  readonly onChange: (listener: () => void) => void;
  /** At least one database can be worked on. */
  readonly ready: () => Promise<boolean>;
}

interface ServiceOptions {
  readonly safetyPollMs: number | undefined;
  /** For each of several databases. */
  readonly patienceMs: number | undefined;
}

/** On one database that is not in a list there is nothing in between: it is the engine on it. */
export function serviceOn(live: LiveCells, options: ServiceOptions): Service {
  const [first] = live.cells;
  if (first === undefined) throw new Error('there is no database');
  if (first.name !== '') return serviceOnSeveral(live, options);
  const { api, polls, claimer, hub: news } = first.engine;
  return { api, polls, claimer, news, cellOfJob: null, onChange: () => undefined, ready: first.ready };
}

function serviceOnSeveral(live: LiveCells, { safetyPollMs, patienceMs }: ServiceOptions): Service {
  const { cells, map } = live;
  const claimer = new CellsClaimer(cells, patienceMs);
  const hubs = (): WorkNews[] => cells.map(({ engine }) => engine.hub);
  const news = new CellsNews(hubs());
  const onChange = (listener: () => void): void => live.onChange(listener);
  onChange(() => news.use(hubs()));
  const cellOfJob = (id: string): number => map.ofId(id);
  const undeliver = async (jobs: readonly LeasedJob[]): Promise<void> => {
    const give = (leased: LeasedJob) => cells[cellOfJob(leased.job.id)]!.engine.settler.giveBack(leased, 'undelivered');
    await Promise.all(jobs.map(give));
  };
  const polls = new LongPolls(claimer, news, { undeliver }, safetyPollMs);
  const ready = async (): Promise<boolean> => (await Promise.all(cells.map((cell) => cell.ready()))).some(Boolean);
  return { api: engineOver({ cells, map, polls, ready }), polls, claimer, news, cellOfJob, onChange, ready };
}
