import { pause, type Mutant } from './mutant.js';

/** Those of schedules that start workflows. */
const FIRING_SQL = 'server/sql/queries/crons/firing.sql';
const WORKFLOW_FIRINGS = 'server/dist/engine/crons/workflow-firings.js';

export const SCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a workflow is started before its schedule is advanced, in another transaction',
    patches: [
      {
        file: WORKFLOW_FIRINGS,
        find: /await this\.db\.transaction\(\(execute\) => this\.#fire\(execute, due, options\)\)/,
        replace: 'await this.#fire((statement) => this.db.run(statement), due, options)',
      },
      { file: WORKFLOW_FIRINGS, find: /(await execute\(sql\.record_starts)/, replace: `${pause(300)} $1` },
    ],
    rows: [53],
    sign: /has no firing|has more than one firing/,
  },
  {
    name: 'a schedule that skips does not see what was triggered while it was about to fire',
    patches: [
      { file: FIRING_SQL, find: /AND \(c\.skips IS NOT TRUE OR \(c\.last_job_id[\s\S]*?\)\)\n/, replace: '\n' },
      // It takes its time between its snapshot and its locks.
      {
        file: FIRING_SQL,
        find: /(name: take_starts[\s\S]*?FROM )(unnest\()/,
        replace: '$1(SELECT pg_sleep(0.3) OFFSET 0) AS late, $2',
      },
    ],
    rows: [53],
    sign: /overlaps the one before it/,
    times: 3,
  },
];
