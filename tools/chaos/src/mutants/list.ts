import { CELL_MUTANTS } from './cells.js';
import { DURABLE_MUTANTS } from './durable.js';
import { LIMIT_MUTANTS, ROOM_MUTANTS } from './limits.js';
import { pause, type Mutant } from './mutant.js';
import { SCHEDULE_MUTANTS } from './schedules.js';

const CLAIM_SQL = 'server/sql/queries/leases/claim.sql';
const MAINTENANCE_SQL = 'server/sql/queries/jobs/maintenance.sql';
const SETTLE_SQL = 'server/sql/queries/outcomes/settle.sql';
const FIRING_SQL = 'server/sql/queries/crons/firing.sql';
const DATABASE = 'server/dist/store/connection/database.js';
const SESSION = 'server/dist/store/connection/session.js';
const QUEUE_DEPTHS_SQL = 'server/sql/queries/jobs/queue-depths.sql';
const ADMISSION = 'server/dist/http/access/admission.js';
const JSON_OUTLINE = 'server/dist/domain/json-outline.js';
const OUTBOX_SQL = 'server/sql/outbox/queries.sql';
const DELIVERY = 'server/dist/relay/delivery.js';
const ONE_BY_ONE = 'server/dist/relay/one-by-one.js';
const VERDICT = 'server/dist/relay/verdict.js';
const ENQUEUE = 'server/dist/engine/jobs/enqueue.js';
const WORKER_POOL = 'server/dist/pool/worker-pool.js';
const SIZING = 'server/dist/pool/sizing.js';
const START_GATE = 'server/dist/pool/start-gate.js';
const OPERATION_WORK = 'server/dist/engine/operations/operation-work.js';
const CRON_FIRER = 'server/dist/engine/crons/cron-firer.js';

export const MUTANTS: readonly Mutant[] = [
  {
    name: 'reports are accepted under any token',
    patches: [{ file: SETTLE_SQL, find: /\bl\.token = \w+\.token\b/g, replace: 'true' }],
    rows: [3],
    sign: /is impossible|instead of 409/,
  },
  {
    name: 'claims lock nothing, so that two workers may claim one job',
    patches: [
      { file: CLAIM_SQL, find: /FOR UPDATE SKIP LOCKED/g, replace: '' },
      // Otherwise the primary key of the leases would reject the second claim, and callers would see a 500.
      {
        file: CLAIM_SQL,
        find: /(INSERT INTO millrace\.leases \([^)]*\)\s*SELECT [^;]*?\n\s*FROM (?:alone|job))(\n\))/g,
        replace: '$1 ON CONFLICT DO NOTHING$2',
      },
    ],
    rows: [22],
    sign: /is impossible|was given to/,
    times: 5,
  },
  {
    name: 'a firing advances its schedule first and stores its job afterwards',
    patches: [
      // The job and its entry in the queue are left out of the statement ...
      {
        file: FIRING_SQL,
        find: /(fire_crons\n[\s\S]*?\bstored AS [\s\S]*?WHERE )fresh(\s*\), queued AS [\s\S]*?WHERE )fresh/,
        replace: '$1false$2false',
      },
      { file: FIRING_SQL, find: /SELECT (id, tenant, queue, task, priority, kind,)/, replace: 'SELECT job_id, $1' },
      // ... and are stored by a separate one.
      {
        file: FIRING_SQL,
        find: /$/,
        replace: `
-- name: store_fired
WITH fired AS (
  SELECT f.fired_at, f.job_id, k.key, c.*
  FROM millrace.cron_firings f
  JOIN millrace.crons c ON c.tenant = f.tenant AND c.id = f.cron_id
  JOIN millrace.idempotency_keys k ON k.tenant = f.tenant AND k.job_id = f.job_id
  WHERE f.job_id = ANY (:stored::uuid[])
), stored AS (
  INSERT INTO millrace.jobs (created_at, priority, id, tenant, queue, task, payload, config, metadata, idempotency_key)
  SELECT fired_at, priority, job_id, tenant, queue, task, payload, job_config,
         json_build_object('cron_id', id, 'cron_name', name), key
  FROM fired
)
INSERT INTO millrace.ready (scheduled_at, priority, retry_count, delivery_count, id, tenant, queue)
SELECT fired_at, priority, 0, 0, job_id, tenant, queue FROM fired;
`,
      },
      {
        file: CRON_FIRER,
        find: /(sql\.fire_crons\(\{[\s\S]*?\}\)\);)/,
        replace:
          `$1 ${pause(20)} const stored = rows.filter((row) => row.enqueued).map((row) => row.job_id); ` +
          `await this.db.run(sql.store_fired({ stored: uuidArray(stored) }));`,
      },
    ],
    rows: [16],
    sign: /counts \d+ firings/,
    times: 6,
  },
  {
    name: 'answers are sent before their commit',
    patches: [
      {
        file: DATABASE,
        find: /(#attempt\([^)]*\) \{[\s\S]*?try \{)([\s\S]*?)client\.release\(\);/,
        replace: `$1 await client.query('BEGIN'); $2
          setTimeout(() => client.query('COMMIT').then(() => client.release(), (error) => client.release(error)), 30);`,
      },
    ],
    rows: [1],
    sign: /was acknowledged and does not exist|is impossible/,
  },
  {
    name: 'commits do not wait for the write-ahead log',
    patches: [{ file: SESSION, find: /\['jit', 'off'\],/, replace: "['jit', 'off'], ['synchronous_commit', 'off']," }],
    rows: [5],
    sign: /was acknowledged and does not exist|is impossible/,
    times: 2,
  },
  {
    name: 'a batch is stored in two halves',
    patches: [
      {
        file: ENQUEUE,
        find: /: await store\(execute, jobs\);/,
        replace: `: await (async () => {
          const half = jobs.length >> 1;
          const first = await store(execute, jobs.slice(0, half)); ${pause(10)}
          return { ...first, ids: [...first.ids, ...(await store(execute, jobs.slice(half))).ids] };
        })();`,
      },
    ],
    rows: [1],
    sign: /^batch .* jobs of/,
  },
  {
    name: 'claims have no limit in bytes',
    patches: [
      { file: CLAIM_SQL, find: /WHERE bytes > :max_bytes::bigint/, replace: 'WHERE bytes > :max_bytes::bigint * 1000' },
    ],
    rows: [28],
    sign: /a lease gave \d+ jobs/,
  },
  {
    name: 'the janitor takes every job of a dead process for started',
    patches: [
      {
        file: MAINTENANCE_SQL,
        find: /NOT EXISTS \(SELECT FROM millrace\.claim_marks [^)]*\) AS started/,
        replace: 'true AS started',
      },
    ],
    rows: [34],
    sign: /neighbours of a killer are dead letters/,
  },
  {
    name: 'outcomes that wait to be stored hold back neither claims nor starts',
    patches: [
      { file: SIZING, find: /(inHand) - unfinished - settling/g, replace: '$1 - unfinished' },
      { file: WORKER_POOL, find: / && !this\.#lanes\.outcomes\.isFull/, replace: '' },
      // The mark of a claim moves with outcomes, so it would stop the pool as well.
      { file: START_GATE, find: /return isMarked\(held\) && [^;]*;/, replace: 'return true;' },
    ],
    rows: [31],
    sign: /jobs were in hand at once/,
  },
  {
    name: 'an operation also changes jobs that were created after it',
    patches: [{ file: OPERATION_WORK, find: /createdBefore: before/, replace: 'createdBefore: null' }],
    rows: [37],
    sign: /of the \d+ jobs that were created afterwards are left/,
  },
  {
    name: 'request bodies have no budget',
    patches: [
      { file: ADMISSION, find: /this\.#inFlight\[room\] \+ units > this\.#room\[room\]/, replace: 'false' },
      { file: ADMISSION, find: /ofOwner \+ bodyUnits > OWNERS_PART \* this\.#room\[room\]/, replace: 'false' },
      { file: ADMISSION, find: /this\.#bodyBytes \+ bytes > BODY_BYTES\[room\]/, replace: 'false' },
    ],
    rows: [40],
    sign: /request bodies held/,
  },
  {
    name: 'dense JSON is parsed as a whole',
    patches: [{ file: JSON_OUTLINE, find: /const DENSE = 32_768/, replace: 'const DENSE = Infinity' }],
    rows: [40],
    sign: /dense JSON of POST/,
  },
  {
    name: 'the age of a job counts from its due time, however long past',
    patches: [
      { file: QUEUE_DEPTHS_SQL, find: /millrace\.due_since\(r\.id, r\.scheduled_at\)/, replace: 'r.scheduled_at' },
    ],
    rows: [41],
    sign: /s old, by GET \/queues/,
  },
  {
    name: 'a relay invents a new key for each call',
    patches: [{ file: OUTBOX_SQL, find: /"' \|\| e\.id \|\| '"/, replace: `"' || gen_random_uuid() || '"` }],
    rows: [43],
    sign: /order \d+ has \d+ jobs/,
  },
  {
    name: 'a relay deletes what it takes before the service has it',
    patches: [
      {
        file: DELIVERY,
        find: /(const verdict = verdictOf)/,
        replace: `await this.outbox.run('delivered', { claim: claim.id }); ${pause(100)} $1`,
      },
      {
        file: ONE_BY_ONE,
        find: /(const verdict = verdictOf\(await this\.service\.createJobs)/,
        replace: `await this.outbox.run('delivered_some', { seqs: left.map(({ seq }) => seq) }); ${pause(100)} $1`,
      },
    ],
    rows: [42],
    sign: /was committed and has no job/,
  },
  {
    name: 'a relay sets aside all of a batch of which one entry is refused',
    patches: [
      {
        file: VERDICT,
        find: /return \{ kind: 'refused', items: new Map\(items\.reverse\(\)\) \}/,
        replace: `return { kind: 'refused', items: new Map(Array.from({ length: 1000 }, (_, n) => [n, items[0][1]])) }`,
      },
    ],
    rows: [42],
    sign: /\((plain|keyed)\) has a refused entry/,
  },
  {
    name: 'a relay forgets the keys of workflows',
    patches: [
      {
        file: ONE_BY_ONE,
        find: /createWorkflow\(text, key\)/,
        replace: 'createWorkflow(text, `${key}-${Date.now()}`)',
      },
    ],
    rows: [43],
    sign: /order \d+ has \d+ workflows/,
  },
  ...DURABLE_MUTANTS,
  ...SCHEDULE_MUTANTS,
  ...LIMIT_MUTANTS,
  ...CELL_MUTANTS,
  ...ROOM_MUTANTS,
];
