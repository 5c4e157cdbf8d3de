import type { Mutant } from './mutant.js';

/** Those of several databases. */
const FIRING_SQL = 'server/sql/queries/crons/firing.sql';
const LIVE_CELLS = 'server/dist/wiring/live-cells.js';
const PRUNE = 'server/dist/store/handover/prune.js';
const ROOM = 'server/dist/cells/engine.js';
const SESSION = 'server/dist/store/connection/session.js';

export const CELL_MUTANTS: readonly Mutant[] = [
  {
    name: 'while one cell is away, the tenants of the others are refused too',
    patches: [{ file: ROOM, find: /if \(cell\.isAway\(\)\)/, replace: 'if (cells.some((each) => each.isAway()))' }],
    rows: [54],
    sign: /was not served while the other cell was away/,
  },
  {
    name: 'a list that is read again is used without asking its databases',
    patches: [
      {
        file: LIVE_CELLS,
        find: /if \(!isAsListed\(known\(address\), address\)\)\s+await expectTenantsIn\(address\);/,
        replace: ';',
      },
    ],
    rows: [55],
    sign: /to refuse the list/,
  },
  {
    name: 'the halves of a cell keep what belongs to the other',
    patches: [{ file: PRUNE, find: /(async function pruneRest\(client\) \{)/, replace: '$1 return 0;' }],
    rows: [56],
    sign: /is in two databases|tenant_belongs_here/,
  },
  {
    name: 'a schedule is fired by each process that has planned it',
    patches: [
      {
        file: FIRING_SQL,
        find: /(name: fire_crons[\s\S]*?'millrace:cron:' \|\| given\.)id( [\s\S]*?WHERE c\.enabled) AND [\s\S]*?now\(\)/,
        replace: '$1suffix$2',
      },
    ],
    rows: [57],
    sign: /schedule .* has \d+ jobs/,
  },
  {
    name: 'commits wait neither for the log of a cell nor for its standby',
    patches: [{ file: SESSION, find: /\['jit', 'off'\],/, replace: "['jit', 'off'], ['synchronous_commit', 'off']," }],
    rows: [58],
    sign: /was acknowledged and does not exist|is impossible/,
    times: 2,
  },
];
