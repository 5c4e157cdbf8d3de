import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, describe, expect, it } from 'vitest';
import { installOutbox, OUTBOX_VERSION, outboxSql, uninstallOutbox } from '../../src/store/outbox/installation.js';
import { outboxStatus, pruneOutbox } from '../../src/store/outbox/upkeep.js';
import { emptyDatabase } from '../support/database.js';
import { NOBODY, session, useApplicationDatabase } from './kit.js';

const database = await useApplicationDatabase();
const unique = randomBytes(4).toString('hex');
const [app, relay, stranger] = [`App "${unique}"`, `relay_${unique}`, `stranger_${unique}`] as const;
const quoted = (role: string): string => `"${role.replaceAll('"', '""')}"`;
for (const role of [app, relay, stranger]) await database.query(`CREATE ROLE ${quoted(role)}`);
afterAll(async () => {
  for (const role of [app, relay, stranger])
    await database.query(`DROP OWNED BY ${quoted(role)}; DROP ROLE ${quoted(role)}`);
});

/** What PostgreSQL says to a statement of a role: null if it does it. */
async function refusal(role: string, statement: string): Promise<string | null> {
  const client = await session(database);
  try {
    await client.query(`SET ROLE ${quoted(role)}`);
    await client.query(statement);
    return null;
  } catch (error) {
    return (error as { code?: string }).code ?? String(error);
  } finally {
    await client.end();
  }
}

const enqueue = `SELECT millrace_outbox.enqueue('t', '{"n": 1}')`;
const claim = 'SELECT * FROM millrace_outbox.claim(0, 0, 30, 1000, 1000000)';
const DENIED = '42501';
const first = readFileSync(new URL('../../sql/outbox/0001_init.sql', import.meta.url), 'utf8');

describe('installing', () => {
  it('can be repeated, and keeps what waits', async () => {
    await database.query(enqueue);
    expect(await installOutbox(database.url, { app: [app], relay: [relay] })).toEqual({
      applied: [],
      version: OUTBOX_VERSION,
    });
    await database.query(outboxSql({ app: [app], relay: [] }));
    expect(await outboxStatus(database.url)).toMatchObject({ version: OUTBOX_VERSION, waiting: 1, refused: 0 });
  });

  it('lets two install at once', async () => {
    const empty = await emptyDatabase();
    const both = await Promise.all([1, 2].map(() => installOutbox(empty.url, NOBODY)));
    expect(both.flatMap(({ applied }) => applied)).toEqual([1, 2, 3]);
    await empty.drop();
  });

  it('upgrades what an older program installed, with what waits there and who may relay it', async () => {
    const old = await emptyDatabase();
    await old.query(first);
    await old.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA millrace_outbox TO ${quoted(relay)}`);
    for (let n = 0; n < 3; n++) await old.query(enqueue);
    // One is held by a relay of the older program, which is still running.
    await old.query('UPDATE millrace_outbox.entries SET tried_at = now(), taken_at = now() WHERE seq = 2');
    await expect(outboxStatus(old.url)).rejects.toThrow(/version 1, this program needs 2: millrace outbox install/);
    expect((await installOutbox(old.url, NOBODY)).applied).toEqual([2, 3]);
    expect(await outboxStatus(old.url)).toMatchObject({ version: 3, waiting: 3 });
    const client = await session(old);
    await client.query(`SET ROLE ${quoted(relay)}`);
    const { rows } = await client.query<{ id: string }>(`SELECT claim AS id FROM (${claim}) AS taken`);
    await client.end();
    expect(await old.query('SELECT seqs FROM millrace_outbox.claims WHERE id = $1', [rows[0]?.id])).toEqual([
      { seqs: ['1', '3'] },
    ]);
    await old.query(`DROP OWNED BY ${quoted(relay)}`);
    await old.drop();
  });

  it('says what to do where there is no outbox, and where the address is wrong', async () => {
    const empty = await emptyDatabase();
    await expect(outboxStatus(empty.url)).rejects.toThrow(/no outbox in this database: millrace outbox install/);
    await expect(uninstallOutbox(empty.url, { force: true })).rejects.toThrow(/no outbox/);
    await empty.drop();
    await expect(outboxStatus(`${empty.url}_which_is_not_there`)).rejects.toThrow(/no such database/);
  });

  it('is undone by uninstalling, which refuses while entries wait', async () => {
    const other = await emptyDatabase();
    await installOutbox(other.url, NOBODY);
    await other.query(enqueue);
    await expect(uninstallOutbox(other.url, { force: false })).rejects.toThrow(/--force/);
    await uninstallOutbox(other.url, { force: true });
    expect(await other.query(`SELECT FROM pg_namespace WHERE nspname = 'millrace_outbox'`)).toEqual([]);
    await other.drop();
  });
});

describe("the application's role", () => {
  it('enqueues, marks what it handled, and can do nothing else', async () => {
    expect(await refusal(app, enqueue)).toBeNull();
    expect(
      await refusal(
        app,
        `SELECT millrace_outbox.enqueue_workflow('{"name":"w","steps":[{"name":"s","task_name":"t"}]}')`,
      ),
    ).toBeNull();
    expect(await refusal(app, `SELECT millrace_outbox.first_time('x')`)).toBeNull();
    for (const table of ['entries', 'claims', 'refused', 'handled', 'relays', 'versions']) {
      const name = `millrace_outbox.${table}`;
      for (const statement of [
        `SELECT FROM ${name}`,
        `INSERT INTO ${name} DEFAULT VALUES`,
        `DELETE FROM ${name}`,
        `TRUNCATE ${name}`,
        `BEGIN; LOCK TABLE ${name}`,
        `ALTER TABLE ${name} ADD COLUMN mine int`,
        `CREATE TRIGGER mine BEFORE INSERT ON ${name} FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()`,
      ])
        expect([statement, await refusal(app, statement)]).toEqual([statement, DENIED]);
    }
    for (const statement of [
      `UPDATE millrace_outbox.entries SET task = 'other'`,
      `SELECT nextval('millrace_outbox.entries_seq_seq')`,
      'SELECT millrace_outbox.new_id()',
      `SELECT millrace_outbox.check_key('k')`,
      claim,
      'CREATE TABLE millrace_outbox.mine ()',
      `CREATE OR REPLACE FUNCTION millrace_outbox.new_id() RETURNS uuid LANGUAGE sql AS 'SELECT gen_random_uuid()'`,
      'DROP SCHEMA millrace_outbox CASCADE',
    ])
      expect([statement, await refusal(app, statement)]).toEqual([statement, DENIED]);
  });

  it('must have been granted that', async () => {
    expect(await refusal(stranger, enqueue)).toBe(DENIED);
    expect(await refusal(stranger, `SELECT millrace_outbox.first_time('y')`)).toBe(DENIED);
  });

  it('cannot lead the functions astray with objects of its own', async () => {
    const client = await session(database);
    await client.query(`CREATE SCHEMA trap; GRANT ALL ON SCHEMA trap TO ${quoted(app)}; SET ROLE ${quoted(app)}`);
    await client
      .query(`CREATE FUNCTION trap.json_typeof(json) RETURNS text LANGUAGE sql AS 'SELECT 1/0::text'`)
      .catch(() => undefined);
    await client.query(`SET search_path = trap, pg_catalog; CREATE TEMP TABLE entries (x int)`);
    await client.query(enqueue);
    await client.query('RESET ROLE; DROP SCHEMA trap CASCADE');
    await client.end();
  });
});

describe('a claim', () => {
  const put = (count: number): Promise<unknown> =>
    database.query(`SELECT millrace_outbox.enqueue('t', '{"n":1}') FROM generate_series(1, $1::int)`, [count]);
  const take = (entries: number, bytes: number): Promise<unknown> =>
    database.query('SELECT FROM millrace_outbox.claim(0, 0, 30, $1::int, $2::int)', [entries, bytes]);

  it('takes the oldest, no more than asked for in number and in bytes, and at least one', async () => {
    await database.query('TRUNCATE millrace_outbox.entries, millrace_outbox.claims RESTART IDENTITY');
    await put(10);
    const taken: number[][] = [];
    for (const [entries, bytes] of [
      [3, 1_000],
      [100, 14],
      [100, 1],
      [100, 1_000],
      [100, 1_000],
    ] as const) {
      await take(entries, bytes);
      const [newest] = await database.query<{ seqs: string[] }>(
        'SELECT seqs FROM millrace_outbox.claims ORDER BY id DESC LIMIT 1',
      );
      taken.push(newest!.seqs.map(Number));
    }
    // The last found nothing, and left the one before it as the newest.
    expect(taken).toEqual([[1, 2, 3], [4, 5], [6], [7, 8, 9, 10], [7, 8, 9, 10]]);
  });

  it('takes what no other takes at the same time', async () => {
    await database.query('TRUNCATE millrace_outbox.entries, millrace_outbox.claims');
    await put(200);
    await Promise.all(Array.from({ length: 20 }, () => take(10, 1_000_000)));
    const rows = await database.query<{ seqs: string[] }>('SELECT seqs FROM millrace_outbox.claims');
    expect(new Set(rows.flatMap(({ seqs }) => seqs)).size).toBe(200);
  });

  it('frees what a dead relay held, and remembers that it was tried', async () => {
    await database.query('TRUNCATE millrace_outbox.entries, millrace_outbox.claims RESTART IDENTITY');
    await put(3);
    await take(2, 1_000);
    await database.query(`UPDATE millrace_outbox.claims SET taken_at = now() - interval '1 hour'`);
    await take(100, 1_000);
    expect(await database.query('SELECT seqs FROM millrace_outbox.claims')).toEqual([{ seqs: ['1', '2', '3'] }]);
    const tried = await database.query(
      `SELECT seq FROM millrace_outbox.entries WHERE tried_at < now() - interval '59 minutes' ORDER BY seq`,
    );
    expect(tried).toEqual([{ seq: '1' }, { seq: '2' }]);
    await database.query('TRUNCATE millrace_outbox.entries, millrace_outbox.claims');
  });
});

describe('enqueue', () => {
  it.each([
    [`enqueue(NULL)`, /task/],
    [`enqueue(' ')`, /task/],
    [`enqueue(repeat('x', 256))`, /task/],
    [`enqueue('t', '[]')`, /payload must be a JSON object, not array/],
    [`enqueue('t', '{}', '')`, /queue/],
    [`enqueue('t', config => '1')`, /config/],
    [`enqueue('t', metadata => '"x"')`, /metadata/],
    [`enqueue('t', queue => 'a', config => '{"queue": "b"}')`, /queue is given twice/],
    [`enqueue('t', run_at => 'infinity')`, /run_at/],
    [`enqueue('t', key => ' x')`, /key/],
    [`enqueue('t', key => 'millrace:x')`, /key/],
    [`enqueue('t', key => repeat('x', 256))`, /key/],
    [`enqueue_workflow('[]')`, /request/],
    [`enqueue_workflow('{"name": "", "steps": [1]}')`, /request.name/],
    [`enqueue_workflow('{"name": "w", "steps": {}}')`, /request.steps/],
    [`enqueue_workflow('{"name": "w", "steps": []}')`, /request.steps/],
  ])('refuses %s where it is called', async (call, message) => {
    await expect(database.query(`SELECT millrace_outbox.${call}`)).rejects.toThrow(message);
  });

  it('returns the id of the entry, a UUID that sorts by time', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 3; n++) {
      const [row] = await database.query<{ id: string; later: unknown }>(
        `SELECT millrace_outbox.enqueue('t') AS id, pg_sleep(0.002) AS later`,
      );
      ids.push(row!.id);
    }
    expect([...ids].sort()).toEqual(ids);
    expect(ids.every((id) => /^[0-9a-f-]{14}7[0-9a-f]{3}-[89ab]/.test(id))).toBe(true);
    expect(await database.query(`SELECT FROM millrace_outbox.entries WHERE id = ANY ($1)`, [ids])).toHaveLength(3);
  });
});

describe('pruning', () => {
  it('removes what was refused and handled long enough ago', async () => {
    await database.query(
      `INSERT INTO millrace_outbox.handled VALUES ('old', now() - interval '9 days'), ('new', now())`,
    );
    await database.query(
      `INSERT INTO millrace_outbox.refused (id, written_at, refused_at, size, payload, code, error)
       SELECT gen_random_uuid(), now(), now() - n * interval '4 days', 2, '{}', 'c', 'e' FROM generate_series(1, 3) n`,
    );
    expect(await pruneOutbox(database.url, 7 * 86_400, 8 * 86_400)).toEqual({ refused: 2, handled: 1 });
    expect(await database.query(`SELECT FROM millrace_outbox.handled WHERE key = 'new'`)).toHaveLength(1);
  });
});
