import type pg from 'pg';
import { socketOf } from './driver-socket.js';
import { DeadlineExceeded, isStalePlan } from '../failures.js';
import { forgetStatements } from './prepared-query.js';

/** What surrounds an attempt on a connection: its deadline, repeating stale statements, rollback. */

/** More than two, because several migrations may commit in quick succession. */
const STALE_TRIES = 4;

/**
 * The schema may change under a running process, when a newer one migrates it. There is nothing to undo, since
 * PostgreSQL refuses a stale statement before running it. We repeat it on the same connection, which then has fresh
 * statements; another connection of the pool may be just as stale as this one was.
 */
export async function againWhileStale<T>(client: pg.PoolClient, ms: number, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!isStalePlan(error) || tries >= STALE_TRIES) throw error;
    }
    await withDeadline(client, ms, forgetStatements(client));
  }
}

export async function rollback(client: pg.PoolClient, ms: number): Promise<boolean> {
  try {
    await withDeadline(client, ms, client.query('ROLLBACK'));
    return true;
  } catch {
    return false;
  }
}

export function withDeadline<T>(client: pg.ClientBase, ms: number, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // The server may have vanished silently: destroy the socket here, or it would wait for an answer forever.
      socketOf(client).destroy();
      reject(new DeadlineExceeded(`no answer from the database within ${ms} ms`));
    }, ms);
    answer.then(
      (value) => (clearTimeout(timer), resolve(value)),
      (error: Error) => (clearTimeout(timer), reject(error)),
    );
  });
}
