/** The tables of docs/architecture.md that say where things happen, as data. */
export interface MapRow {
  readonly what: string;
  /** Files with the names to look for in them, and files without one (null). */
  readonly places: readonly MapPlace[];
  /** Paths of tests, without `.test.ts` or what else their names end with. */
  readonly tests: readonly string[];
}

export interface MapPlace {
  readonly file: string;
  readonly name: string | null;
}

interface Folders {
  readonly code: string;
  readonly tests: string;
}

const SERVER: Folders = { code: 'packages/server/src', tests: 'packages/server/test' };
const PLACE = /`([\w-]+(?:\/[\w-]+)*\.(?:tsx?|sql))`(?: \(((?:`\w+`(?:, )?)+)[^|)]*\))?/g;
/** Both are said once for each of the clients; of the server they go without saying. */
const CODE_IN = /^Paths are in `([^`]+)`/m;
const TESTS_IN = /tests in `([^`]+)`/;

/** Every row of every table that names files, with paths from the root of the repository. */
export function readMap(document: string): MapRow[] {
  return document.split(/^#+ /m).flatMap((section) => {
    const code = CODE_IN.exec(section)?.[1];
    const folders = code === undefined ? SERVER : { code, tests: TESTS_IN.exec(section)?.[1] ?? '' };
    const lines = section.split('\n').filter((line) => line.startsWith('| '));
    const columns = cellsOf(lines[0] ?? '');
    if (columns[1] !== 'file') return [];
    const testColumn = columns.indexOf('test');
    return lines.slice(1).map((line) => rowOf(cellsOf(line), testColumn, folders));
  });
}

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());

function rowOf(cells: readonly string[], testColumn: number, folders: Folders): MapRow {
  const [what = '', files = ''] = cells;
  const places = [...files.matchAll(PLACE)].flatMap(([, path = '', names]): MapPlace[] => {
    const file = pathOf(path, folders.code);
    return names === undefined ? [{ file, name: null }] : namesIn(names).map((name) => ({ file, name }));
  });
  const tests = namesIn(cells[testColumn] ?? '').map((test) => pathOf(test, folders.tests));
  return { what, places, tests };
}

const namesIn = (text: string): string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

function pathOf(path: string, folder: string): string {
  if (/^(packages|tools)\//.test(path)) return path;
  return path.startsWith('sql/') ? `packages/server/${path}` : `${folder}/${path}`;
}
