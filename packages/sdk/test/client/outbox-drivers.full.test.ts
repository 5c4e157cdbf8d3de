import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { outbox, task, type, workflow, type Transaction } from '@millrace/sdk';
import { installOutbox } from '@millrace/server';
import { parse } from 'pg-connection-string';
import { expect, it, onTestFinished } from 'vitest';
import { emptyDatabase, type TestDatabase } from '../../../server/test/support/database.js';
import { npmInstall } from '../../../server/test/support/npm-install.js';
import { compile, programFolder } from '../support/programs.js';

/**
 * The outbox in transactions of the drivers themselves, as their users install them: nothing here depends on them, so
 * they are fetched into a folder that goes away with the test. `outbox.test.ts` has their shapes, and is quick.
 */
const PACKAGES = [
  ...['pg@8.23.1', 'postgres@3.4.9', 'kysely@0.29.8', 'drizzle-orm@0.45.4', 'knex@3.3.0', 'typeorm@1.1.1'],
  ...['prisma@7.10.0', '@prisma/client@7.10.0', '@prisma/adapter-pg@7.10.0'],
];

/** Each opens its driver, and runs work in a transaction that rolls back if the work fails. */
const PROGRAM = `
import { drizzle } from 'drizzle-orm/node-postgres';
import { drizzle as drizzleOnPostgres } from 'drizzle-orm/postgres-js';
import knex from 'knex';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import postgres from 'postgres';
import { PrismaPg } from '@prisma/adapter-pg';
import { DataSource } from 'typeorm';
import type { Transaction } from '@millrace/sdk';
import { PrismaClient } from './generated/client.js';

type Work = (tx: Transaction) => Promise<void>;
interface Place {
  host: string;
  port: number;
  user: string;
  password: string;
  database: string;
}
export interface Driver {
  run(work: Work): Promise<void>;
  close(): Promise<void>;
}

const onPg = async (at: Place): Promise<Driver> => {
  const pool = new pg.Pool(at);
  const run = async (work: Work): Promise<void> => {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  };
  return { run, close: () => pool.end() };
};

const onPostgres = async (at: Place): Promise<Driver> => {
  const sql = postgres(at);
  return { run: async (work) => void (await sql.begin((tx) => work(tx))), close: () => sql.end() };
};

const onKysely = async (at: Place): Promise<Driver> => {
  const db = new Kysely<Record<string, never>>({
    dialect: new PostgresDialect({ pool: new pg.Pool(at) }),
  });
  return { run: (work) => db.transaction().execute((trx) => work(trx)), close: () => db.destroy() };
};

const onDrizzle = async (at: Place): Promise<Driver> => {
  const pool = new pg.Pool(at);
  const db = drizzle({ client: pool });
  return { run: (work) => db.transaction((tx) => work(tx)), close: () => pool.end() };
};

const onDrizzlePostgres = async (at: Place): Promise<Driver> => {
  const sql = postgres(at);
  const db = drizzleOnPostgres({ client: sql });
  return { run: (work) => db.transaction((tx) => work(tx)), close: () => sql.end() };
};

const onKnex = async (at: Place): Promise<Driver> => {
  const db = knex({ client: 'pg', connection: at });
  return { run: (work) => db.transaction((trx) => work(trx)), close: () => db.destroy() };
};

const onPrisma = async (at: Place): Promise<Driver> => {
  const prisma = new PrismaClient({ adapter: new PrismaPg(at) });
  return { run: (work) => prisma.$transaction((tx) => work(tx)), close: () => prisma.$disconnect() };
};

const onTypeOrm = async (at: Place): Promise<Driver> => {
  const source = await new DataSource({ type: 'postgres', ...at, username: at.user }).initialize();
  return { run: (work) => source.transaction((manager) => work(manager)), close: () => source.destroy() };
};

const onQueryRunner = async (at: Place): Promise<Driver> => {
  const source = await new DataSource({ type: 'postgres', ...at, username: at.user }).initialize();
  const run = async (work: Work): Promise<void> => {
    const runner = source.createQueryRunner();
    try {
      await runner.startTransaction();
      await work(runner);
      await runner.commitTransaction();
    } catch (error) {
      await runner.rollbackTransaction();
      throw error;
    } finally {
      await runner.release();
    }
  };
  return { run, close: () => source.destroy() };
};

export const drivers: Record<string, (at: Place) => Promise<Driver>> = {
  pg: onPg,
  'postgres.js': onPostgres,
  Kysely: onKysely,
  'Drizzle on pg': onDrizzle,
  'Drizzle on postgres.js': onDrizzlePostgres,
  Knex: onKnex,
  Prisma: onPrisma,
  TypeORM: onTypeOrm,
  "TypeORM's QueryRunner": onQueryRunner,
};
`;

const SCHEMA = `
generator client {
  provider = "prisma-client"
  output = "./generated"
  runtime = "nodejs"
}
datasource db {
  provider = "postgresql"
}
model orders {
  id Int @id
}
`;

/** Not as an address: not all of them know how to write a socket into one. */
interface Place {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

function placeOf(url: string): Place {
  const { host, port, user, password, database } = parse(url);
  return { host: host!, port: Number(port ?? 5432), user: user!, password: password ?? '', database: database! };
}

interface Driver {
  run(work: (tx: Transaction) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

const run = promisify(execFile);

async function install(folder: string): Promise<void> {
  await npmInstall(folder, PACKAGES);
  await writeFile(join(folder, 'schema.prisma'), SCHEMA);
  // Generating a client needs no engine, but looks for one: it would be downloaded if none were named.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, CHECKPOINT_DISABLE: '1' };
  const prisma = join(folder, 'node_modules/prisma/build/index.js');
  await run(process.execPath, [prisma, 'generate', '--schema', 'schema.prisma'], { cwd: folder, env });
}

const sendReceipt = task({
  name: 'send_receipt',
  queue: 'mail',
  input: type<{ order: number; text?: string }>(),
  retries: { max: 5, delay: '10s' },
});
const order = workflow({ name: 'order', input: type<{ order: number }>() }).step('mail', sendReceipt, {
  payload: ({ input }) => ({ order: input.order }),
});

async function commitsAndRollsBack(name: string, driver: Driver, database: TestDatabase): Promise<void> {
  const waiting = async (id: string): Promise<unknown[]> =>
    database.query('SELECT task, queue, payload, config FROM millrace_outbox.entries WHERE id = $1', [id]);
  const ids: string[] = [];
  const text = `it's "€" ?$1 :a`;
  const work = async (tx: Transaction): Promise<void> => {
    const id = await outbox.enqueue(tx, sendReceipt, { order: 1, text }, { priority: 3 });
    ids.push(id, await outbox.start(tx, order, { order: 7 }, { key: `flow of ${name}` }));
    expect(await waiting(id), name).toEqual([]);
  };
  await driver.run(work);
  const config = { priority: 3, max_retries: 5, retry_delay_secs: 10 };
  expect(await waiting(ids[0]!), name).toEqual([
    { task: 'send_receipt', queue: 'mail', payload: { order: 1, text }, config },
  ]);
  expect(await waiting(ids[1]!), name).toMatchObject([{ task: null, payload: { name: 'order' } }]);
  const undone = driver.run(async (tx) => {
    await work(tx);
    throw new Error('undone');
  });
  await expect(undone, name).rejects.toThrow('undone');
  expect(ids, name).toHaveLength(4);
  for (const id of ids.slice(2)) expect(await waiting(id), name).toEqual([]);
}

it('is written in transactions of every driver, by their own types, if and only if they commit', async () => {
  const folder = await programFolder();
  await install(folder);
  const program = join(folder, 'drivers.ts');
  await writeFile(program, PROGRAM);
  expect(compile([program], folder)).toEqual([]);
  const database = await emptyDatabase();
  onTestFinished(() => database.drop());
  await installOutbox(database.url, { app: [], relay: [] });
  const { drivers } = (await import(join(folder, 'drivers.js'))) as {
    drivers: Record<string, (at: Place) => Promise<Driver>>;
  };
  for (const [name, open] of Object.entries(drivers)) {
    const driver = await open(placeOf(database.url));
    try {
      await commitsAndRollsBack(name, driver, database);
    } finally {
      await driver.close();
    }
  }
  expect(Object.keys(drivers)).toHaveLength(9);
});
