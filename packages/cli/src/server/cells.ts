import { writeFileSync } from 'node:fs';
import {
  abortHandover,
  CELL_COUNTED,
  cellListText,
  cellStatus,
  handOver,
  prepareCell,
  rangeText,
  readCellList,
  type BucketRange,
  type CellAddress,
  type CellStatus,
} from '@millrace/server';
import { EXIT, Misuse } from '../invocation/exit.js';
import type { Invocation } from '../invocation/invocation.js';
import { parse } from '../invocation/parse.js';
import * as specs from '../specs/cells.js';
import { explain } from './failure.js';

/** The commands about the databases of a list. They need no service. */

const listAt = (file: string | undefined, env: NodeJS.ProcessEnv): readonly CellAddress[] => {
  const path = file ?? env.MILLRACE_CELLS ?? '';
  if (path === '') throw new Misuse('--cells or MILLRACE_CELLS must name the file that lists the databases');
  return readCellList(path);
};

interface Shown {
  readonly cell: CellAddress;
  readonly found: CellStatus | null;
  /** Why it cannot be served as it is listed; null: it can. */
  readonly problem: string | null;
}

export async function status({ argv, env, io }: Invocation): Promise<number> {
  const { options } = parse(specs.cellsStatus, argv);
  const shown = await Promise.all(listAt(options.cells, env).map(lookAt));
  await io.print(options.json ? JSON.stringify(shown.map(asJson), null, 2) : asTable(shown));
  return shown.every(({ problem }) => problem === null) ? EXIT.ok : EXIT.failed;
}

async function lookAt(cell: CellAddress): Promise<Shown> {
  try {
    const found = await cellStatus(cell.directUrl ?? cell.url);
    return { cell, found, problem: problemOf(cell, found) };
  } catch (error) {
    return { cell, found: null, problem: explain(error) };
  }
}

function problemOf({ range: listed }: CellAddress, { range, state }: CellStatus): string | null {
  if (range === null) return 'it has no schema yet';
  if (state === 'gone') return 'it has handed its tenants over';
  if (rangeText(range) !== rangeText(listed)) return `it holds ${rangeText(range)}`;
  return state === 'closed' ? 'it is closed: its tenants are being handed over' : null;
}

const asJson = ({ cell, found, problem }: Shown): object => ({
  name: cell.name,
  buckets: rangeText(cell.range),
  answers: found !== null,
  schema: found?.schema ?? null,
  state: found?.state ?? null,
  pruned: found?.pruned ?? null,
  tenants: found?.counts?.tenants ?? null,
  waiting: found?.counts?.waiting ?? null,
  running: found?.counts?.running ?? null,
  problem,
});

const many = (n: number | undefined): string =>
  n === undefined ? '-' : n >= CELL_COUNTED ? `${CELL_COUNTED}+` : String(n);

const TITLES = ['NAME', 'BUCKETS', 'STATE', 'SCHEMA', 'TENANTS', 'WAITING', 'RUNNING', 'PROBLEM'];

function asTable(shown: readonly Shown[]): string {
  const rows = shown.map(({ cell, found, problem }) => [
    cell.name,
    rangeText(cell.range),
    found === null ? 'away' : found.pruned ? found.state : 'pruning',
    String(found?.schema ?? '-'),
    many(found?.counts?.tenants),
    many(found?.counts?.waiting),
    many(found?.counts?.running),
    problem ?? '-',
  ]);
  const lines = [TITLES, ...rows];
  const widths = TITLES.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((text, column) => text.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export async function prepare({ argv, env, io }: Invocation): Promise<number> {
  const { options, args } = parse(specs.cellsPrepare, argv);
  const cell = cellCalled(args[0]!, listAt(options.cells, env));
  await prepareCell(cell.directUrl ?? cell.url, cell.range);
  await io.print(`${cell.name} holds the buckets ${rangeText(cell.range)}, and no tenants yet`);
  return EXIT.ok;
}

interface HandoverOptions {
  readonly cells?: string | undefined;
  readonly to?: string | undefined;
  readonly list?: string | undefined;
  readonly promote: boolean;
  readonly abort: boolean;
}

interface Parts {
  readonly keeps: BucketRange | null;
  readonly gives: BucketRange;
  /** Where the list says that the new cell is; null: it does not. */
  readonly targetUrl: string | null;
  /** The list once it is done. */
  readonly next: (url: string) => readonly CellAddress[];
}

export async function split(invocation: Invocation): Promise<number> {
  const { options, args } = parse(specs.cellsSplit, invocation.argv);
  return handedOver(invocation, args[0]!, options, (cells, cell) => {
    const name = options.name ?? '';
    if (name === '') throw new Misuse('--name must say what the new cell is called');
    const at = options.at === undefined ? null : bucketOf(options.at);
    const listed = cells.find((other) => other.name === name);
    return listed === undefined ? partsOf(cells, cell, name, at) : listedParts(cells, cell, listed, at);
  });
}

function partsOf(cells: readonly CellAddress[], cell: CellAddress, name: string, given: number | null): Parts {
  const { first, last } = cell.range;
  const at = given ?? Math.floor((first + last + 1) / 2);
  if (at <= first || at > last)
    throw new Misuse(`--at must be within ${rangeText(cell.range)}, and leave something on both sides`);
  const [keeps, gives] = [
    { first, last: at - 1 },
    { first: at, last },
  ];
  const both = (url: string): CellAddress[] => [
    { ...cell, range: keeps },
    { name, range: gives, url, pooler: 'none', directUrl: null },
  ];
  const next = (url: string): CellAddress[] => cells.flatMap((other) => (other === cell ? both(url) : [other]));
  return { keeps, gives, targetUrl: null, next };
}

/** The list is the new one already: the split was begun before. Its databases say whether that is so. */
function listedParts(
  cells: readonly CellAddress[],
  { range: keeps }: CellAddress,
  { name, range: gives, url, directUrl }: CellAddress,
  at: number | null,
): Parts {
  if (gives.first !== keeps.last + 1) throw new Misuse('--name is the name of another cell');
  if (at !== null && at !== gives.first) throw new Misuse(`--at is not where ${name} begins in the list`);
  return { keeps, gives, targetUrl: directUrl ?? url, next: () => cells };
}

export async function move(invocation: Invocation): Promise<number> {
  const { options, args } = parse(specs.cellsMove, invocation.argv);
  return handedOver(invocation, args[0]!, options, (cells, cell) => ({
    keeps: null,
    gives: cell.range,
    targetUrl: null,
    next: (url) => cells.map((other) => (other === cell ? { ...cell, url, pooler: 'none', directUrl: null } : other)),
  }));
}

function bucketOf(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535) throw new Misuse('--at must be a bucket, from 0 to 65535');
  return Number(text);
}

async function handedOver(
  { env, io }: Invocation,
  name: string,
  options: HandoverOptions,
  partsIn: (cells: readonly CellAddress[], cell: CellAddress) => Parts,
): Promise<number> {
  const cells = listAt(options.cells, env);
  const cell = cellCalled(name, cells);
  const sourceUrl = cell.directUrl ?? cell.url;
  if (options.abort) {
    await abortHandover(sourceUrl);
    await io.print('called off: the cell serves all of its tenants; discard the standby if it was promoted');
    return EXIT.ok;
  }
  const { keeps, gives, targetUrl: listed, next } = partsIn(cells, cell);
  const targetUrl = targetOf(options.to ?? env.MILLRACE_TARGET_URL ?? listed ?? '');
  if (options.list !== undefined) writeFileSync(options.list, cellListText(next(targetUrl)), { mode: 0o600 });
  await handOver({ sourceUrl, targetUrl, keeps, gives, promotes: options.promote, tell: (line) => io.print(line) });
  return EXIT.ok;
}

function cellCalled(name: string, cells: readonly CellAddress[]): CellAddress {
  const cell = cells.find((each) => each.name === name);
  if (cell === undefined) throw new Misuse('there is no cell of this name in the list');
  return cell;
}

function targetOf(url: string): string {
  if (url === '') throw new Misuse('--to or MILLRACE_TARGET_URL must say where the standby is');
  if (!/^postgres(ql)?:\/\//.test(url)) throw new Misuse('--to must be a postgres:// URL');
  return url;
}
