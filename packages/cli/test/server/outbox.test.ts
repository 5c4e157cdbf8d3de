import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { callMillrace, type Outcome } from '../support/cli.js';

describe('outbox', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await emptyDatabase();
  });
  afterAll(() => database.drop());

  const outbox = (...words: readonly string[]): Promise<Outcome> =>
    callMillrace(['outbox', ...words], { env: { MILLRACE_OUTBOX_URL: database.url } });

  it('is installed, shown, emptied and removed', async () => {
    expect(await outbox('status')).toMatchObject({ code: 1, stderr: expect.stringContaining('outbox install') });
    expect(await outbox('install')).toMatchObject({ code: 0, stdout: 'the outbox is installed, at version 3\n' });
    expect(await outbox('install')).toMatchObject({ code: 0, stdout: 'the outbox was there, at version 3\n' });
    await database.query(`SELECT millrace_outbox.enqueue('t')`);
    await database.query(
      `INSERT INTO millrace_outbox.refused (id, written_at, refused_at, size, task, payload, code, error)
       VALUES ('019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10', now(), now() - interval '40 days', 2, 'mail', '{}', 'conflict', 'no')`,
    );
    const { stdout } = await outbox('status');
    expect(stdout).toMatch(
      /waiting {3}1, the oldest for \d+ s\nrefused {3}1\nrelays {4}0\n {2}019bd0e5-.* mail {2}conflict: no/,
    );
    expect(JSON.parse((await outbox('status', '--json')).stdout)).toMatchObject({ version: 3, waiting: 1, refused: 1 });
    expect((await outbox('prune', '--refused', '41')).stdout).toBe('removed 0 refused and 0 handled\n');
    expect((await outbox('retry', '019bd0e5-7c58-7a5f-9c0e-2f9f6a0f8f10')).stdout).toBe('put back 1 entry\n');
    expect((await outbox('retry', '--all')).stdout).toBe('put back 0 entries\n');
    expect(await outbox('uninstall')).toMatchObject({ code: 1, stderr: expect.stringContaining('--force') });
    expect(await outbox('uninstall', '--force')).toMatchObject({ code: 0, stdout: 'the outbox is removed\n' });
    expect((await outbox('status')).code).toBe(1);
  });

  it('is left alone if a newer program installed it', async () => {
    expect((await outbox('install')).code).toBe(0);
    await database.query('INSERT INTO millrace_outbox.versions (version) VALUES (4)');
    expect(await outbox('install')).toMatchObject({
      code: 0,
      stdout: "the outbox was there, at version 4: newer than this program's (3), and left alone\n",
    });
    expect(JSON.parse((await outbox('status', '--json')).stdout)).toMatchObject({ version: 4 });
    expect((await outbox('uninstall')).code).toBe(0);
  });

  it('is printed as SQL, which quotes the names of roles', async () => {
    const { code, stdout } = await outbox('sql', '--app-role', 'a "b"');
    expect(code).toBe(0);
    expect(stdout).toContain('GRANT EXECUTE ON FUNCTION millrace_outbox.enqueue TO "a ""b""";');
    expect(stdout).not.toMatch(/^(BEGIN|COMMIT);/m);
    await database.query(stdout.replace(/^GRANT EXECUTE.*$/gm, ''));
    expect((await outbox('uninstall')).code).toBe(0);
  });

  it.each([
    [['retry'], /ids of entries, or --all/],
    [['retry', 'x'], /UUID/],
    [['prune'], /--refused or --handled/],
    [['prune', '--refused', 'x'], /days/],
    [['status', '--to', 'mysql://x'], /postgres:/],
    [['instal'], /did you mean/],
  ])('%j is a usage error', async (words, message) => {
    expect(await outbox(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });

  it('shows no password of the database', async () => {
    const { code, stderr } = await outbox('status', '--to', 'postgres://u:secret-word@127.0.0.1:1/x');
    expect([code, stderr.includes('secret-word')]).toEqual([1, false]);
  });
});

describe('relay', () => {
  it.each([
    [{}, /--from or MILLRACE_OUTBOX_URL/],
    [{ MILLRACE_OUTBOX_URL: 'postgres://x/x' }, /--url or MILLRACE_URL/],
    [{ MILLRACE_OUTBOX_URL: 'postgres://x/x', MILLRACE_URL: 'x' }, /http/],
    [{ MILLRACE_OUTBOX_URL: 'postgres://x/x', MILLRACE_URL: 'http://x' }, /token/],
  ])('with %j is a usage error', async (env, message) => {
    expect(await callMillrace(['relay'], { env })).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
  });
});
