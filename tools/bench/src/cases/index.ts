import type { Case } from '../bench.js';
import type { Scale } from '../scale.js';
import { cells } from './cells.js';
import { durable } from './durable.js';
import { events } from './events.js';
import { growth } from './growth/index.js';
import { history } from './history.js';
import { idle } from './idle.js';
import { insight } from './insight.js';
import { latency } from './latency.js';
import { limits } from './limits.js';
import type { CaseName } from './names.js';
import { outbox } from './outbox.js';
import { processes } from './processes.js';
import { remote } from './remote.js';
import { single } from './single.js';
import { snapshot } from './snapshot.js';
import { throughput } from './throughput.js';
import { wal } from './wal.js';
import { workflows } from './workflows.js';

export const CASES: Readonly<Record<CaseName, Case>> = {
  throughput,
  single,
  processes,
  remote,
  latency,
  outbox,
  workflows,
  durable,
  limits,
  cells,
  events,
  wal,
  idle,
  snapshot,
  history,
  insight,
  growth,
};

const HEAVY: readonly CaseName[] = [
  ...(['durable', 'limits', 'cells', 'idle', 'snapshot', 'history', 'insight', 'growth', 'wal'] as const),
];

export const roundsOf = (name: CaseName, scale: Scale): number =>
  HEAVY.includes(name) ? scale.heavyRounds : scale.rounds;
