import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Database } from '../../../src/store/connection/database.js';
import { Notifications } from '../../../src/store/connection/notifications.js';
import { createLogger } from '../../../src/telemetry/logger.js';

/** Connections that answer unless they are told otherwise. */
class Connection extends EventEmitter {
  readonly connection = { stream: { destroy: () => (this.isOpen = false) } };
  isOpen = true;
  fails = false;

  query(): Promise<object> {
    return this.fails ? Promise.reject(new Error('it is gone')) : Promise.resolve({});
  }

  end(): Promise<void> {
    this.isOpen = false;
    return Promise.resolve();
  }
}

let connections: Connection[] = [];
let heard = 0;

function listening(hear: () => void): Notifications {
  const db = {
    openListener: () => {
      connections.push(new Connection());
      return Promise.resolve(connections.at(-1));
    },
  };
  return new Notifications(db as unknown as Database, createLogger({ level: 'silent', format: 'json' }), hear, hear);
}

const open = (): number => connections.filter(({ isOpen }) => isOpen).length;

beforeEach(() => {
  vi.useFakeTimers();
  [connections, heard] = [[], 0];
});
afterEach(() => vi.useRealTimers());

it('one connection listens, and is closed at the end, though a listener of the news fails', async () => {
  const notifications = listening(() => {
    heard++;
    throw new Error('a bug');
  });
  await notifications.start();
  connections[0]!.emit('notification', { payload: '{"q":[["queue"]]}' });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([heard, connections.length, open()]).toEqual([2, 1, 1]);
  await notifications.stop();
  expect(open()).toBe(0);
});

it('a connection whose loss nobody noticed is replaced once it is asked', async () => {
  const notifications = listening(() => void heard++);
  await notifications.start();
  connections[0]!.fails = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([connections.length, open(), heard, notifications.listening]).toEqual([2, 1, 2, true]);
  await notifications.stop();
  expect(open()).toBe(0);
});
