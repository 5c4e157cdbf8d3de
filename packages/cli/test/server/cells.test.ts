import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase, copyDatabase, emptyDatabase } from '../../../server/test/support/database.js';
import { callMillrace, type Outcome } from '../support/cli.js';

/** The commands about a list of databases. The handover itself is tested in packages/server and by the fault suite. */
const [low, high] = await Promise.all([cloneDatabase(), cloneDatabase()]);
await low.query('UPDATE millrace.cell SET last_bucket = 99');
await high.query('UPDATE millrace.cell SET first_bucket = 100');
await low.query(`INSERT INTO millrace.tenants VALUES ('t', 7)`);
const dir = mkdtempSync(join(tmpdir(), 'millrace-cells-'));
const file = join(dir, 'cells.json');
const write = (first: string, second: string, url = high.url): void =>
  writeFileSync(
    file,
    JSON.stringify([
      { name: 'low', buckets: first, database_url: low.url },
      { name: 'high', buckets: second, database_url: url },
    ]),
  );
afterAll(async () => {
  rmSync(dir, { recursive: true });
  await Promise.all([low.drop(), high.drop()]);
});
const cells = (...words: readonly string[]): Promise<Outcome> => callMillrace(['cells', ...words], { env: {} });

describe('cells status', () => {
  it('shows each database, and exits with 0 if all are as they are listed', async () => {
    write('0-99', '100-65535');
    const { code, stdout } = await cells('status', '--cells', file);
    expect(stdout).toMatch(/low\s+0-99\s+open\s+\d+\s+1\s+0\s+0\s+-\n/);
    expect(code).toBe(0);
  });

  it('names what is wrong with which, and exits with 1', async () => {
    write('0-100', '101-65535', 'postgres://nobody@127.0.0.1:9/nothing');
    const { code, stdout } = await cells('status', '--cells', file, '--json');
    const shown = JSON.parse(stdout) as Record<string, unknown>[];
    expect(shown.map(({ name, answers }) => [name, answers])).toEqual([
      ['low', true],
      ['high', false],
    ]);
    expect(shown[0]!.problem).toBe('it holds 0-99');
    expect(stdout).not.toContain('nobody');
    expect(code).toBe(1);
  });
});

describe('commands on several database URLs', () => {
  const run = (...words: readonly string[]): Promise<Outcome> => callMillrace(words, { env: {} });
  const both = [`--database-url=${high.url}`, `--database-url=${low.url}`];

  it('work on each of them', async () => {
    const { code, stdout } = await run('doctor', '--json', '--log-level=silent', ...both);
    const found = JSON.parse(stdout) as { name: string }[];
    expect(found.map(({ name }) => name)).toEqual(['cell1', 'cell2']);
    expect(code).toBe(0);
    expect((await run('migrate', '--log-level=silent', ...both)).code).toBe(0);
  });

  it('refuse those that are not one service', async () => {
    const other = await cloneDatabase();
    const { code, stderr } = await run('doctor', ...both, `--database-url=${other.url}`);
    await other.drop();
    expect(stderr).toContain('--database-url names no whole service: cell3: it is empty');
    expect(code).toBe(2);
  });
});

describe('a list with an empty database beside one in use', () => {
  const run = (...words: readonly string[]): Promise<Outcome> => callMillrace(words, { env: {} });

  it('is refused by migrate and doctor until the database is prepared as a cell', async () => {
    const empty = await emptyDatabase();
    write('0-99', '100-65535', empty.url);
    const refusal = 'cell high: the database is empty, while others are in use: is it the right one?';
    for (const command of ['migrate', 'doctor']) {
      const { code, stderr } = await run(command, '--log-level=silent', `--cells=${file}`);
      expect([code, stderr]).toEqual([1, expect.stringContaining(refusal)]);
    }
    expect(await empty.query(`SELECT FROM pg_namespace WHERE nspname = 'millrace'`)).toEqual([]);
    expect(await cells('prepare', 'high', '--cells', file)).toMatchObject({
      code: 0,
      stdout: 'high holds the buckets 100-65535, and no tenants yet\n',
    });
    const doctor = await run('doctor', '--json', '--log-level=silent', `--cells=${file}`);
    expect(JSON.parse(doctor.stdout).map(({ name }: { name: string }) => name)).toEqual(['low', 'high']);
    expect(doctor.code).toBe(0);
    const { code, stdout } = await run('migrate', '--log-level=silent', `--cells=${file}`);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^low: the schema .*\nhigh: the schema .*\n$/)]);
    await empty.drop();
  });

  it('cannot be prepared where something is held', async () => {
    write('0-99', '100-65535');
    const same = await cells('prepare', 'high', '--cells', file);
    expect([same.code, same.stderr]).toEqual([1, expect.stringContaining('the database holds these buckets')]);
    write('0-9', '10-65535');
    const other = await cells('prepare', 'low', '--cells', file);
    expect(other.stderr).toContain('the database holds the buckets 0-99, and is listed with 0-9');
    expect((await cells('prepare', 'none', '--cells', file)).code).toBe(2);
  });
});

describe('cells split and move', () => {
  it('refuse what makes no sense, before they touch anything', async () => {
    write('0-99', '100-65535');
    const to = ['--to', high.url];
    const refusals: readonly (readonly [readonly string[], string])[] = [
      [['split', 'low', '--name', 'b', ...to], '--cells or MILLRACE_CELLS'],
      [['split', 'none', '--name', 'b', '--cells', file, ...to], 'no cell of this name'],
      [['split', 'low', '--cells', file, ...to], '--name must say'],
      [['split', 'high', '--name', 'low', '--cells', file, ...to], 'the name of another cell'],
      [['split', 'low', '--name', 'high', '--at', '50', '--cells', file], '--at is not where high begins'],
      [['split', 'low', '--name', 'b', '--at', '100', '--cells', file, ...to], '--at must be within 0-99'],
      [['split', 'low', '--name', 'b', '--at', 'x', '--cells', file, ...to], '--at must be a bucket'],
      [['split', 'low', '--name', 'b', '--cells', file], '--to or MILLRACE_TARGET_URL'],
    ];
    for (const [words, message] of refusals) {
      const { code, stderr } = await cells(...words);
      expect(stderr).toContain(message);
      expect(code).toBe(2);
    }
    const split = await cells('split', 'low', '--name', 'b', '--cells', file, ...to);
    expect(split).toMatchObject({ code: 1 });
    expect(split.stderr).toContain('the target is no standby of the cell');
    const never = await cells('split', 'low', '--name', 'high', '--cells', file);
    expect([never.code, never.stderr]).toEqual([1, expect.stringContaining('no handover of the buckets 100-65535')]);
    const abort = await cells('move', 'low', '--cells', file, '--abort');
    expect(abort.stderr).toContain('no handover of this cell is under way');
    expect(await low.query('SELECT state FROM millrace.cell')).toEqual([{ state: 'open' }]);
  });

  it.each([
    ['before either half was taken', ''],
    ['after the first half was taken', `SELECT millrace.take_part(handover, keeps) FROM millrace.cell`],
  ])('go on with the list that names the new cell already, if interrupted %s', async (_when, further) => {
    const source = await cloneDatabase();
    await source.query(`SELECT millrace.close_cell(gen_random_uuid(), int4range(0, 100), int4range(100, 65536))`);
    const target = await copyDatabase(source);
    if (further !== '') await source.query(further);
    const both = [
      { name: 'a', buckets: '0-99', database_url: source.url },
      { name: 'b', buckets: '100-65535', database_url: target.url },
    ];
    writeFileSync(file, JSON.stringify(both));
    const next = join(dir, 'next.json');
    const { code, stdout } = await cells('split', 'a', '--name', 'b', '--cells', file, '--list', next);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\ndone\n$/)]);
    expect(JSON.parse(readFileSync(next, 'utf8'))).toMatchObject(both);
    expect((await cells('status', '--cells', next)).code).toBe(0);
    // And once more, though nothing is left to be done.
    expect((await cells('split', 'a', '--name', 'b', '--at', '100', '--cells', file)).code).toBe(0);
    await Promise.all([source.drop(), target.drop()]);
  });
});
