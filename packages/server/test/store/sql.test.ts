import { describe, expect, it } from 'vitest';
import { readStatements } from '../../src/store/sql-text.js';
import { loadStatements, toSent } from '../../src/store/sql.js';

const only = (source: string) => readStatements(source)[0]!;

describe('the parameters of a statement', () => {
  const parametersOf = (text: string) => only(`-- name: it\n${text}`);

  it('are numbered in the order of their first use', () => {
    expect(parametersOf('SELECT :b, :a, :b WHERE x = :a;')).toEqual({
      name: 'it',
      text: 'SELECT $1, $2, $1 WHERE x = $2',
      parameters: ['b', 'a'],
    });
  });

  it.each([
    ['a cast', 'SELECT :ids::uuid[], x::int', 'SELECT $1::uuid[], x::int', ['ids']],
    ['a string', `SELECT ':no', 'it''s :no', :yes`, `SELECT ':no', 'it''s :no', $1`, ['yes']],
    ['a quoted name', 'SELECT ":no" FROM t WHERE a = :yes', 'SELECT ":no" FROM t WHERE a = $1', ['yes']],
    ['a comment', 'SELECT 1 -- :no\n, /* :no\n :no */ :yes', 'SELECT 1 -- :no\n, /* :no\n :no */ $1', ['yes']],
    ['a slice of an array', 'SELECT ids[1:n], ids[(a):b], :n', 'SELECT ids[1:n], ids[(a):b], $1', ['n']],
    [
      'an element of an array',
      'SELECT (:ids::int[])[k], ARRAY[:id]',
      'SELECT ($1::int[])[k], ARRAY[$2]',
      ['ids', 'id'],
    ],
  ])('are told from %s', (_what, named, text, parameters) => {
    expect(parametersOf(named)).toEqual({ name: 'it', text, parameters });
  });
});

describe('a file of statements', () => {
  it('is cut at the names, without its comments', () => {
    const statements = readStatements('-- A head.\n\n-- name: one\n-- Why.\nSELECT 1;\n\n-- name: two\nSELECT\n  2;\n');
    expect(statements.map(({ name, text }) => [name, text])).toEqual([
      ['one', 'SELECT 1'],
      ['two', 'SELECT\n  2'],
    ]);
  });

  it('may write once what several statements share', () => {
    const source = `
-- name: one
WITH due AS (
-- include: due_jobs
)
SELECT :a, due FROM due;

-- name: two
-- include: due_jobs

-- fragment: due_jobs
-- Why.
  SELECT :queue, :a
`;
    expect(readStatements(source)).toEqual([
      { name: 'one', text: 'WITH due AS (\n  SELECT $1, $2\n)\nSELECT $2, due FROM due', parameters: ['queue', 'a'] },
      { name: 'two', text: 'SELECT $1, $2', parameters: ['queue', 'a'] },
    ]);
  });

  it('names nothing twice, and nothing that is not there', () => {
    expect(() => readStatements('-- name: one\nSELECT 1\n-- name: one\nSELECT 2')).toThrow('one is there twice');
    expect(() => readStatements('-- name: one\n-- include: other')).toThrow('there is no fragment named other');
  });
});

describe('a statement of the service', () => {
  const { queue_marks, clock, note_queues } = loadStatements('shared/presence.sql');

  it('takes its values by name, and sends them in order', () => {
    const statement = note_queues({ ages_secs: '{1}', queues: '{q}' });
    expect(statement).toEqual({ name: 'note_queues', text: note_queues.text, values: ['{q}', '{1}'] });
    expect(note_queues.parameters).toEqual(['queues', 'ages_secs']);
    expect(clock()).toEqual({ name: 'clock', text: 'SELECT now() AS now', values: [] });
  });

  it('does not compile with a value that is missing, misspelt, superfluous or of a type that cannot be sent', () => {
    const asked = { queues: '{q}' };
    const checked = () => [
      // @ts-expect-error: nothing is given
      queue_marks(),
      // @ts-expect-error: one is missing
      note_queues(asked),
      // @ts-expect-error: it is misspelt
      queue_marks({ queue: '{q}' }),
      // @ts-expect-error: one is superfluous
      queue_marks({ queues: '{q}', ages_secs: '{1}' }),
      // @ts-expect-error: one is superfluous, among values that are put together
      queue_marks({ ...asked, ages_secs: '{1}' }),
      // @ts-expect-error: undefined is not null
      queue_marks({ queues: undefined }),
      // @ts-expect-error: it takes none
      clock({}),
    ];
    expect(checked).toThrow();
  });

  it('sends texts and buffers as they are, and nothing that it would have to guess the form of', () => {
    const buffer = Buffer.from('x');
    expect([null, 'a', 1.5, true, buffer].map(toSent)).toEqual([null, 'a', '1.5', 'true', buffer]);
    for (const value of [undefined, { a: 1 }, ['a'], new Date()])
      expect(() => toSent(value as never)).toThrow('cannot be bound');
  });
});
