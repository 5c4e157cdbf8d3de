import { FakeServer } from '@millrace/sdk/testing';
import { Millrace, NonRetryableError, outbox, task, type, workflow, type Transaction } from '@millrace/sdk';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installOutbox } from '@millrace/server';
import { emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';

/**
 * Each driver by the shape of its transactions, as its documentation has it, over one connection of `pg`: none of the
 * others is installed here.
 */
const DRIVERS: Readonly<Record<string, (client: pg.Client) => Transaction>> = {
  pg: (client) => client,
  'postgres.js': (client) =>
    Object.assign(() => undefined, {
      unsafe: async (text: string, values: unknown[]) => (await client.query(text, values)).rows,
    }),
  Kysely: (client) => ({
    executeQuery: async ({ sql, parameters, query, queryId }) => {
      expect([query.kind, typeof queryId.queryId]).toEqual(['RawNode', 'string']);
      return { rows: (await client.query(sql as string, [...parameters])).rows };
    },
  }),
  Drizzle: (client) => ({
    // Its relational queries: an object, not a method.
    query: {},
    execute: (query) => {
      const { sql, params } = query.getSQL().toQuery({ escapeParam: (n: number) => `$${n + 1}` });
      return client.query(sql as string, params as unknown[]);
    },
  }),
  Knex: (client) =>
    Object.assign(() => undefined, {
      raw: (text: string, bindings: unknown[]) => {
        let n = 0;
        return client.query(
          text.replaceAll('?', () => `$${++n}`),
          bindings,
        );
      },
    }),
  Prisma: (client) => ({
    $queryRawUnsafe: async (text: string, ...values: unknown[]) => (await client.query(text, values)).rows,
  }),
  TypeORM: (client) => ({ query: async (text: string, values: unknown[]) => (await client.query(text, values)).rows }),
};

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await emptyDatabase();
  await installOutbox(database.url, { app: [], relay: [] });
  await database.query('CREATE TABLE bookings (name text)');
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

const sendReceipt = task({
  name: 'send_receipt',
  queue: 'mail',
  input: type<{ order: number; text?: string }>(),
  retries: { max: 5, delay: '10s' },
});
const entry = async (id: string): Promise<any> =>
  (await database.query('SELECT * FROM millrace_outbox.entries WHERE id = $1', [id]))[0];

describe.each(Object.entries(DRIVERS))('in a transaction of %s', (_, driver) => {
  it('a job is written if that commits, and only then', async () => {
    await client.query('BEGIN');
    const id = await outbox.enqueue(driver(client), sendReceipt, { order: 1, text: `it's "€" ?$1` }, { priority: 3 });
    expect(await entry(id)).toBeUndefined();
    await client.query('COMMIT');
    expect(await entry(id)).toMatchObject({
      task: 'send_receipt',
      queue: 'mail',
      payload: { order: 1, text: `it's "€" ?$1` },
      config: { priority: 3, max_retries: 5, retry_delay_secs: 10 },
      metadata: null,
      run_at: null,
      key: null,
    });
    await client.query('BEGIN');
    const undone = await outbox.enqueue(driver(client), sendReceipt, { order: 2 });
    await client.query('ROLLBACK');
    expect(await entry(undone)).toBeUndefined();
  });
});

describe('the outbox', () => {
  it('takes what a call can say', async () => {
    const runAt = new Date('2999-01-01T00:00:00Z');
    const options = { key: 'k', metadata: { m: 1 }, queue: 'other', runAt };
    const row = await entry(await outbox.enqueue(client, sendReceipt, { order: 1 }, options));
    expect(row).toMatchObject({ key: 'k', metadata: { m: 1 }, queue: 'other', run_at: runAt });
    const later = await entry(await outbox.enqueue(client, sendReceipt, { order: 1 }, { delay: '1h' }));
    expect(later.run_at - later.written_at).toBeGreaterThan(3_590_000);
  });

  it('starts workflows', async () => {
    const flow = workflow({ name: 'order', input: type<{ order: number }>() }).step('mail', sendReceipt, {
      payload: ({ input }) => ({ order: input.order }),
    });
    const row = await entry(await outbox.start(client, flow, { order: 7 }, { key: 'flow-7' }));
    expect(row).toMatchObject({ task: null, key: 'flow-7', payload: { name: 'order', steps: [{ name: 'mail' }] } });
  });

  it('says so if it is given something else', async () => {
    await expect(outbox.enqueue({} as Transaction, sendReceipt, { order: 1 })).rejects.toThrow(/not a transaction/);
  });
});

describe('ctx.once', () => {
  it('lets an effect happen once, over attempts, replays, and replays of replays', async () => {
    const fake = new FakeServer();
    const millrace = new Millrace(fake.options);
    const book = task({
      name: 'book',
      queue: 'bank',
      input: type<{ name: string }>(),
      retries: { max: 1, delay: '0s' },
    });
    const results: unknown[] = [];
    const handler = book.handle(async ({ name }, ctx) => {
      await client.query('BEGIN');
      results.push(
        await ctx.once(client, 'book', async () => {
          await client.query('INSERT INTO bookings VALUES ($1)', [name]);
          return 'booked';
        }),
      );
      await client.query('COMMIT');
      throw ctx.job.attempt === 1 ? new Error('the report was lost') : new NonRetryableError('no');
    });
    const job = await millrace.enqueue(book, { name: 'ada' });
    const failed = async (): Promise<number> => {
      await fake.drain([handler]);
      const letters = await millrace.deadLetters.list().toArray();
      return letters.find(({ replayedAt }) => replayedAt === null)!.id;
    };
    for (let n = 0; n < 2; n++) await millrace.deadLetters.replay(await failed());
    await failed();
    expect(results).toEqual(['booked', ...Array<undefined>(5).fill(undefined)]);
    expect(await database.query('SELECT * FROM bookings')).toEqual([{ name: 'ada' }]);
    expect(await database.query('SELECT key FROM millrace_outbox.handled')).toEqual([{ key: `${job.id}:book` }]);
  });

  it('runs an effect again whose transaction was rolled back', async () => {
    const fake = new FakeServer();
    const millrace = new Millrace(fake.options);
    const book = task({ name: 'book', queue: 'bank', retries: { max: 1, delay: '0s' } });
    const tries: unknown[] = [];
    await millrace.enqueue(book);
    await fake.drain([
      book.handle(async (_, ctx) => {
        await client.query('BEGIN');
        tries.push(await ctx.once(client, 'book', () => ctx.job.attempt));
        await client.query(ctx.job.attempt === 1 ? 'ROLLBACK' : 'COMMIT');
        if (ctx.job.attempt === 1) throw new Error('rolled back');
        return {};
      }),
    ]);
    expect(tries).toEqual([1, 2]);
  });
});
