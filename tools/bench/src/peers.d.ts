/**
 * The few members of the peers' APIs that the benchmark uses, so that it compiles where the peers are not installed.
 * `npm run bench` installs them and then compiles once more against their own types (tsconfig.peers.json).
 */
declare module 'bullmq' {
  interface Connection {
    readonly host: string;
    readonly port: number;
  }

  export class Queue {
    constructor(name: string, options: { readonly connection: Connection });
    waitUntilReady(): Promise<unknown>;
    obliterate(options: { readonly force: boolean }): Promise<void>;
    addBulk(jobs: { name: string; data: object }[]): Promise<unknown>;
    close(): Promise<void>;
  }

  export class Worker {
    constructor(
      queue: string,
      handler: () => Promise<unknown>,
      options: { readonly connection: Connection; readonly concurrency: number },
    );
    on(event: 'completed', listener: () => void): this;
    close(): Promise<void>;
  }
}

declare module 'graphile-worker' {
  import type { EventEmitter } from 'node:events';

  export class Logger {
    constructor(factory: () => () => void);
  }

  export interface WorkerUtils {
    migrate(): Promise<void>;
    addJobs(jobs: { identifier: string; payload: object }[]): Promise<unknown>;
    release(): Promise<void> | void;
  }

  export function makeWorkerUtils(options: { connectionString: string; logger: Logger }): Promise<WorkerUtils>;

  export function run(options: {
    connectionString: string;
    taskList: Record<string, () => void>;
    noHandleSignals: boolean;
    logger: Logger;
    events: EventEmitter;
    preset: { worker: object };
  }): Promise<{ stop(): Promise<void> }>;
}

declare module 'ioredis' {
  export class Redis {
    constructor(options: {
      readonly port: number;
      readonly host: string;
      readonly retryStrategy: () => number;
      readonly maxRetriesPerRequest: null;
    });
    on(event: 'error', listener: () => void): this;
    info(section: string): Promise<string>;
    disconnect(): void;
  }
}

declare module 'pg-boss' {
  export default class PgBoss {
    constructor(options: { connectionString: string; supervise: boolean; schedule: boolean });
    on(event: 'error', listener: (error: Error) => void): void;
    start(): Promise<unknown>;
    createQueue(name: string): Promise<void>;
    insert(jobs: { name: string; data: object }[]): Promise<unknown>;
    fetch(name: string, options: { batchSize: number }): Promise<{ readonly id: string }[]>;
    complete(name: string, ids: string[]): Promise<unknown>;
    stop(options: { graceful: boolean }): Promise<void>;
  }
}
