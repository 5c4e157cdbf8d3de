import { pause, type Mutant } from './mutant.js';

/** Those of limits, rates and turns. */
const ADMIT_SQL = 'server/sql/queries/limits/admit.sql';
const CLAIM_SQL = 'server/sql/queries/leases/claim.sql';
const GATES_SQL = 'server/sql/queries/leases/gates.sql';
const SHARES_SQL = 'server/sql/queries/leases/shares.sql';
const SETTLE_SQL = 'server/sql/queries/outcomes/settle.sql';
const UNIQUE_SQL = 'server/sql/queries/limits/unique.sql';
const CREATE_SQL = 'server/sql/queries/limits/create.sql';
const ADMITTER = 'server/dist/engine/limits/admitter.js';
const CREATE_LIMITED = 'server/dist/engine/limits/create-limited.js';
const QUEUE_GATES = 'server/dist/engine/leases/queue-gates.js';
const RATED = 'server/dist/engine/limits/rated.js';
const SETTLE = 'server/dist/engine/outcomes/settle.js';
const TENANT_LINES = 'server/dist/engine/leases/tenant-lines.js';
const UNIQUE = 'server/dist/engine/limits/unique.js';

/** In a transaction of its own, and the settlement takes its time. */
const giveBackFirst = `
  const ids = '{' + items.map(({ id }) => id).join() + '}';
  const gone = await this.db.run({
    name: '',
    text: \`UPDATE millrace.limits l SET running = l.running - 1 FROM millrace.jobs j
           WHERE j.id = ANY ($1::uuid[]) AND l.id = ANY (j.limits)
             AND EXISTS (SELECT FROM millrace.leases x WHERE x.id = j.id) RETURNING l.id\`,
    values: [ids],
  });
  this.hub.announceLimits({ limits: gone.map(({ id }) => id), slept: false });
  ${pause(30)}
`;

export const LIMIT_MUTANTS: readonly Mutant[] = [
  {
    name: 'jobs are let in without the lock of their limit',
    patches: [
      { file: ADMIT_SQL, find: /(ORDER BY l\.id) FOR NO KEY UPDATE SKIP LOCKED/, replace: '$1' },
      { file: ADMITTER, find: /const admission = admit\(/, replace: `${pause(50)} $&` },
    ],
    rows: [46],
    sign: /held room for|limit counts what holds room/,
    times: 3,
  },
  {
    name: 'turns end before the lines are dissolved',
    patches: [
      {
        file: SHARES_SQL,
        find: / AND g\.set_at < now\(\) - interval '1 minute' AND \([\s\S]*?\) IS NULL(\n\s+FOR NO KEY UPDATE)/,
        replace: '$1',
      },
      { file: TENANT_LINES, find: /batch < batches && back/, replace: 'false && back' },
      { file: TENANT_LINES, find: /const more = back === batches \* SORT_BATCH/, replace: 'const more = false' },
    ],
    rows: [49],
    sign: /in lines though nobody takes turns/,
  },
  {
    name: 'a claim does not say whose turn it was',
    patches: [{ file: CLAIM_SQL, find: /WHERE g\.turn IS DISTINCT FROM served\.line/, replace: 'WHERE false' }],
    rows: [49],
    sign: /two who wait got/,
  },
  {
    name: 'what runs on a queue is counted without its gate',
    patches: [
      { file: GATES_SQL, find: /(set_config\([^)]*\)\) IS NOT NULL)\nFOR NO KEY UPDATE/, replace: '$1' },
      { file: QUEUE_GATES, find: /const counted = row\.most !== null/, replace: `${pause(50)} $&` },
    ],
    rows: [50],
    sign: /ran at once on a queue for/,
  },
  {
    name: 'claims take no tokens of the rate of their queue',
    patches: [{ file: QUEUE_GATES, find: /bucket\.tokens -= taken;/, replace: '' }],
    rows: [50],
    sign: /of paced started within/,
  },
  {
    name: 'whoever was claimed gives its token back',
    patches: [{ file: RATED, find: /gone, refunded \}, rate\)/, replace: 'gone, refunded: gone }, rate)' }],
    rows: [50],
    sign: /of keyed started within/,
  },
  {
    name: 'room is given back before the attempt has ended',
    patches: [
      { file: SETTLE_SQL, find: /SELECT freed\.n, freed\.id/, replace: 'SELECT 0, freed.id' },
      { file: SETTLE_SQL, find: /SELECT n, id, quiet FROM freed/g, replace: 'SELECT 0, id, quiet FROM freed' },
      { file: SETTLE, find: /async #complete\(items, statement\) \{/, replace: `$& ${giveBackFirst}` },
    ],
    rows: [46],
    sign: /held room for/,
    times: 3,
  },
  {
    name: 'creates take room without the lock of its limit',
    patches: [
      { file: CREATE_SQL, find: /(ORDER BY l\.id) FOR NO KEY UPDATE SKIP LOCKED/, replace: '$1' },
      { file: CREATE_LIMITED, find: /const places = jobs\.map\(/, replace: `${pause(20)} $&` },
    ],
    rows: [46],
    sign: /held room for|limit counts what holds room/,
    times: 3,
  },
  {
    name: 'room is passed on to the first in line, and given back as well',
    patches: [{ file: SETTLE_SQL, find: /line\.n - coalesce\(taken\.n, 0\) AS n/, replace: 'line.n AS n' }],
    rows: [46],
    sign: /held room for|limit counts what holds room/,
    times: 3,
  },
  {
    name: 'unique keys are not locked while it is decided',
    patches: [
      { file: UNIQUE_SQL, find: /(ORDER BY u\.id) FOR UPDATE/, replace: '$1' },
      { file: UNIQUE, find: /const states = await statesOf\(/, replace: `${pause(20)} $&` },
    ],
    rows: [51],
    sign: /of the unique key/,
    times: 3,
  },
];

/** Last in the list, because results are published under their numbers. */
export const ROOM_MUTANTS: readonly Mutant[] = [
  {
    name: 'ample room is returned, and noted as well',
    patches: [{ file: SETTLE_SQL, find: /FROM freed WHERE NOT ample/, replace: 'FROM freed' }],
    rows: [46],
    sign: /limit counts what holds room/,
    times: 3,
  },
];
