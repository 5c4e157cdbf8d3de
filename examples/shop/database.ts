// The shop's own PostgreSQL: SHOP_DATABASE_URL, with the outbox installed (npm run database).
import { outbox } from '@millrace/sdk';
import pg from 'pg';
import { order, sendWelcome } from './tasks.js';

const pool = new pg.Pool({
  connectionString: process.env.SHOP_DATABASE_URL ?? 'postgres://localhost/shop',
  idleTimeoutMillis: 1_000,
});

export interface Order {
  readonly orderId: string;
  readonly sku: string;
  readonly count: number;
  readonly card: string;
}

export async function createTables(): Promise<void> {
  await pool.query(`
    CREATE TABLE IF NOT EXISTS users (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, email text UNIQUE);
    CREATE TABLE IF NOT EXISTS orders (id text PRIMARY KEY, request json NOT NULL, parcel text);`);
}

/** All of it, or nothing. */
export async function transaction<T>(work: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  try {
    await tx.query('BEGIN');
    const result = await work(tx);
    await tx.query('COMMIT');
    return result;
  } catch (error) {
    await tx.query('ROLLBACK');
    throw error;
  } finally {
    tx.release();
  }
}

/** The user with this address. A new one gets a welcome mail: no user is without it, and no mail without a user. */
export function saveUser(email: string): Promise<number> {
  return transaction(async (tx) => {
    const insert = 'INSERT INTO users (email) VALUES ($1) ON CONFLICT DO NOTHING RETURNING id';
    const [created] = (await tx.query<{ id: number }>(insert, [email])).rows;
    if (created === undefined) {
      const { rows } = await tx.query<{ id: number }>('SELECT id FROM users WHERE email = $1', [email]);
      return rows[0].id;
    }
    await outbox.enqueue(tx, sendWelcome, { userId: created.id, email }, { key: `welcome-${created.id}` });
    return created.id;
  });
}

/** The order, and the workflow that fulfils it. Its id was made up by the browser: sending it twice makes one order. */
export function saveOrder(request: Order): Promise<void> {
  return transaction(async (tx) => {
    const insert = 'INSERT INTO orders (id, request) VALUES ($1, $2) ON CONFLICT DO NOTHING';
    const { rowCount } = await tx.query(insert, [request.orderId, JSON.stringify(request)]);
    if (rowCount === 1) await outbox.start(tx, order, request, { key: `order-${request.orderId}` });
  });
}

export async function findOrder(id: string): Promise<{ request: Order; parcel: string | null } | undefined> {
  const { rows } = await pool.query('SELECT request, parcel FROM orders WHERE id = $1', [id]);
  return rows[0] as { request: Order; parcel: string | null } | undefined;
}
