import { pause, type Mutant } from './mutant.js';

/** Those of durable jobs, and of workflows that are resumed or wait. */
const CHECKPOINTS_SQL = 'server/sql/queries/durable/checkpoints.sql';
const CHILDREN_SQL = 'server/sql/queries/durable/children.sql';
const CHILDREN = 'server/dist/engine/durable/children.js';
const PARENTS = 'server/dist/engine/durable/parents.js';
const SIGNALS = 'server/dist/engine/durable/signals.js';
const SUSPENDER = 'server/dist/engine/durable/suspender.js';
const FAMILY_SWEEP = 'server/dist/engine/jobs/family-sweep.js';
const STEP_ENDER = 'server/dist/engine/durable/step-ender.js';
const STEP_WAITS = 'server/dist/loops/step-waits.js';
const JANITOR = 'server/dist/loops/janitor.js';
const RESUMER = 'server/dist/engine/workflows/resumer.js';
const CALL_ORDINALS = 'sdk/dist/durable/call-ordinals.js';

export const DURABLE_MUTANTS: readonly Mutant[] = [
  {
    name: 'a checkpoint is stored without the lock on its lease',
    patches: [
      // It takes its time as well: what it has seen of the lease may be over by then.
      {
        file: CHECKPOINTS_SQL,
        find: /(FROM millrace\.leases l)( WHERE l\.id = given\.id AND l\.token = given\.token\s+OFFSET 0) FOR KEY SHARE/,
        replace: '$1, pg_sleep(0.3)$2',
      },
    ],
    rows: [45],
    sign: /the next attempt had read/,
  },
  {
    name: 'a signal looks for a wait, and is stored, outside a transaction',
    patches: [
      { file: SIGNALS, find: /await this\.db\.transaction\(effect\)/, replace: 'await effect(this.db.run)' },
      { file: SIGNALS, find: /await this\.keys\.once\(use, effect\)/, replace: 'await effect(this.db.run)' },
      { file: SIGNALS, find: /(await this\.#store\(execute)/, replace: `${pause(300)} $1` },
    ],
    rows: [44],
    sign: /wait for signals that are stored|was acknowledged, and is there/,
  },
  {
    name: 'a resume keeps the results of the steps that it resets',
    patches: [
      { file: RESUMER, find: /plan\.state\[step\] === STEP\.completed/, replace: 'end.state[step] === STEP.completed' },
    ],
    rows: [47],
    sign: /sees a result from before the resume/,
  },
  {
    name: 'children are created again when their parent asks again',
    patches: [
      { file: CHILDREN, find: /new Map\(known\.map\([^;]*\)\);/, replace: 'new Map();' },
      { file: CHILDREN, find: /made\?\.committed\(\);/, replace: `made?.committed(); ${pause(300)}` },
      {
        file: CHILDREN_SQL,
        find: /(AS given \(child_id, name, detached\));/,
        replace: '$1 ON CONFLICT DO NOTHING;',
      },
    ],
    rows: [48],
    sign: /the \w+ parent .* has /,
  },
  {
    name: 'a parent that begins to wait does not keep its children from ending',
    patches: [
      { file: CHILDREN_SQL, find: /(WHERE p\.parent_id = :id) FOR NO KEY UPDATE/, replace: '$1' },
      { file: SUSPENDER, find: /checkAwaited\(names, found\);/, replace: `checkAwaited(names, found); ${pause(300)}` },
    ],
    rows: [48],
    sign: /parents wait for children that have all ended/,
  },
  {
    name: 'whoever ends the last child wakes the parent, and nobody else does',
    patches: [
      {
        file: CHILDREN_SQL,
        find: /p\.awaits IS NOT NULL AND p\.pending <= 0 AS complete/,
        replace: 'false AS complete',
      },
      { file: PARENTS, find: /const outcome = await this\.#wake/, replace: `${pause(2_000)} $&` },
    ],
    rows: [48],
    sign: /parents wait for children that have all ended/,
  },
  {
    name: 'a cancelled parent is forgotten before its children are cancelled',
    patches: [
      { file: CHILDREN_SQL, find: /FROM found WHERE status <> 'cancelled'/, replace: 'FROM found' },
      {
        file: FAMILY_SWEEP,
        find: /(of await this\.parents\.closeEnded\(\)\)\s*)([^;]*;)/,
        replace: `$1{ ${pause(3_000)} $2 }`,
      },
    ],
    rows: [48],
    sign: /descendants of cancelled jobs are still there/,
  },
  {
    name: 'calls that create jobs are numbered over the handler',
    patches: [{ file: CALL_ORDINALS, find: /return step === undefined \? ([^:]*) : [^;]*;/, replace: 'return $1;' }],
    rows: [48],
    sign: /the \w+ parent .*"ends":0/,
  },
  {
    name: 'a signal counts as taken though the deadline came first',
    patches: [
      { file: SIGNALS, find: /const woken = await wakeJob/, replace: `${pause(300)} $&` },
      { file: SIGNALS, find: /woken\?\.stored/, replace: 'woken?.acted' },
    ],
    rows: [52],
    sign: /was acknowledged, and is there 0 times/,
  },
  {
    name: 'a waiting step ends by its deadline, though a signal came first',
    patches: [
      {
        file: STEP_ENDER,
        find: /const standing = answer \?\? \(await checkpoints\.store\(timedOut\)\)\?\.value;/,
        replace: `${pause(300)} const standing = answer ?? (await checkpoints.store(timedOut), TIMED_OUT);`,
      },
    ],
    rows: [52],
    sign: /workflow .* was given .* and its step ended with nothing/,
  },
  {
    name: 'nobody looks whether the deadline of a waiting step has come',
    patches: [
      { file: STEP_WAITS, find: /return secs === null [^;]*;/, replace: 'return UNWOKEN_MS;' },
      { file: JANITOR, find: /stepWaits\.wake\(\)/, replace: 'undefined' },
    ],
    rows: [52],
    sign: /jobs wait, though their deadline was/,
  },
];
