import { Worker as Thread } from 'node:worker_threads';
import type { JsonObject } from '../json.js';
import { BeatLoop, type Lease } from './beat-loop.js';
import { sendHeartbeats, type BeatAnswer } from './heartbeat-calls.js';
import type { LeaseCells } from './lease-cells.js';
import { openTransport, type Connection, type Features } from './wire-calls.js';

/** Keeps leases alive until they are left (LeaseCells.leave). */
export interface Keeper {
  hold(leases: readonly Lease[]): void;
  progress(cell: number, generation: number, value: JsonObject): void;
  close(): Promise<void>;
}

export interface KeeperOptions {
  readonly connection: Connection;
  readonly features: Features;
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
  /** Leases as JSON text: cloning one text costs a fraction of cloning hundreds of objects. */
  | { readonly hold: string }
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
    hold: (leases) => loop.hold(leases),
    progress: (cell, generation, value) => loop.progress(cell, generation, value),
    close: async () => loop.stop(),
  };
}

/**
 * In a thread of its own, which no handler can block. If the thread does not start, or dies, what it held is kept
 * inline from then on.
 */
export function startThreadKeeper(options: KeeperOptions, held: () => readonly Lease[]): Keeper {
  const { connection, cells, leaseSecs, onLost } = options;
  const { url, token, logger } = connection;
  const workerData: ThreadData = { url, token, leaseSecs, buffer: cells.buffer };
  const thread = new Thread(new URL('./keeper-thread.js', import.meta.url), { workerData });
  const post = (message: ToThread): void => thread.postMessage(message);
  let inline: Keeper | null = null;
  let closed = false;
  thread.on('message', ({ lost, answer }: FromThread) => onLost(lost, answer));
  const fallBack = (reason: string): void => {
    if (closed || inline !== null) return;
    logger.warn(`no thread of its own for heartbeats (${reason}): a handler that blocks for a lease loses its job`);
    inline = startInlineKeeper(options);
    inline.hold(held());
  };
  thread.once('error', (error) => fallBack(error.message));
  thread.once('exit', (code) => fallBack(`it ended with code ${code}`));
  return {
    hold: (leases) => (inline === null ? post({ hold: JSON.stringify(leases) }) : inline.hold(leases)),
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
