import { join } from 'node:path';
import { Worker as Thread } from 'node:worker_threads';
import type { JsonObject } from '../../json/object.js';
import { BeatLoop } from './beat-loop.js';
import { monotonicMs } from '../clock.js';
import { sendHeartbeats, type BeatAnswer } from './heartbeat-calls.js';
import type { Lease, LeaseCells } from './lease-cells.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import { openTransport, type Connection } from '../calls/calls.js';
import place from './place.cjs';

/** Keeps alive the leases in the cells. */
export interface Keeper {
  /** Leases have been put into cells; the first of them is half over at this instant. */
  beatBy(dueMs: number): void;
  progress(cell: number, generation: number, value: JsonObject): void;
  close(): Promise<void>;
}

export interface KeeperOptions {
  readonly connection: Connection;
  readonly features: AssumedFeatures;
  readonly cells: LeaseCells;
  readonly leaseSecs: number;
  readonly onLost: (lease: Lease, answer: BeatAnswer) => void;
}

/** What the keeper's thread is started with. */
export interface ThreadData {
  readonly url: string;
  readonly token: string;
  readonly leaseSecs: number;
  readonly buffer: SharedArrayBuffer;
}

export type ToThread =
  | { readonly beatBy: number }
  | { readonly progress: { readonly cell: number; readonly generation: number; readonly value: JsonObject } };

export interface FromThread {
  readonly lost: Lease;
  readonly answer: BeatAnswer;
}

/** In the same thread as the handlers: a handler that blocks it for a lease loses its job. */
export function startInlineKeeper({ connection, features, cells, leaseSecs, onLost }: KeeperOptions): Keeper {
  const transport = openTransport(connection);
  const loop = new BeatLoop({
    cells,
    leaseMs: leaseSecs * 1_000,
    send: (beats, timeoutMs) => sendHeartbeats(transport, features, beats, { extendSecs: leaseSecs, timeoutMs }),
    onLost,
  });
  return {
    beatBy: (dueMs) => loop.beatBy(dueMs),
    progress: (cell, generation, value) => loop.progress(cell, generation, value),
    close: async () => loop.stop(),
  };
}

/**
 * In a thread of its own, which no handler can block. It is told of leases only if it would look at them too late by
 * itself. If the thread does not start, or dies, the leases are kept inline from then on.
 */
export function startThreadKeeper(options: KeeperOptions): Keeper {
  const { connection, cells, leaseSecs, onLost } = options;
  const { url, token, logger } = connection;
  const inlineBecause = (reason: string): Keeper => {
    logger.warn(`no thread of its own for heartbeats (${reason}): a handler that blocks for a lease loses its job`);
    return startInlineKeeper(options);
  };
  if (place.folder === '') return inlineBecause('its file is not beside this bundle');
  const workerData: ThreadData = { url, token, leaseSecs, buffer: cells.buffer };
  const thread = new Thread(join(place.folder, 'keeper-thread.js'), { workerData });
  const post = (message: ToThread): void => thread.postMessage(message);
  let inline: Keeper | null = null;
  let closed = false;
  thread.on('message', ({ lost, answer }: FromThread) => onLost(lost, answer));
  const fallBack = (reason: string): void => {
    if (closed || inline !== null) return;
    inline = inlineBecause(reason);
    inline.beatBy(monotonicMs());
  };
  thread.once('error', (error) => fallBack(error.message));
  thread.once('exit', (code) => fallBack(`it ended with code ${code}`));
  return {
    beatBy: (dueMs) => {
      if (inline !== null) inline.beatBy(dueMs);
      else if (!cells.isRoundPlannedBy(dueMs)) post({ beatBy: dueMs });
    },
    progress: (cell, generation, value) => {
      if (inline === null) post({ progress: { cell, generation, value } });
      else inline.progress(cell, generation, value);
    },
    close: async () => {
      closed = true;
      await inline?.close();
      await thread.terminate();
    },
  };
}
