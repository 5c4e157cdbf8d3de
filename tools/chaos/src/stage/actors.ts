import { fileURLToPath } from 'node:url';
import { TENANT_KEY, WORKER_TOKEN } from './server.js';
import { ManagedProcess } from './processes.js';

/** What the process of a remote worker or a producer is told at its start. */
export interface ActorSettings {
  readonly name: string;
  readonly urls: readonly string[];
  readonly queue: string;
  readonly seed: number;
  readonly journal: string;
  readonly tenantKey: string;
  readonly workerToken: string;
  /** For a worker: */
  readonly leaseSecs: number;
  readonly maxJobs: number;
  readonly waitSecs: number;
  /** A job takes any time between these two. */
  readonly workMs: readonly [number, number];
  readonly failRate: number;
  readonly heartbeats: boolean;
  /** For a producer: how many jobs to create (0: until it is stopped), how many at a time, and the pause in between. */
  readonly jobs: number;
  readonly batch: number;
  readonly pauseMs: number;
  readonly task: string;
  readonly config: Readonly<Record<string, unknown>>;
  /** The folder of the SDK under test, for workers that may be run with a broken one. */
  readonly sdk: string;
}

/** A job that fails is retried at once, and often: no row waits for a backoff unless that is what it tests. */
export const QUICK = { retry_delay_secs: 0, jitter_factor: 0, max_retries: 50 } as const;

export const ACTOR_DEFAULTS = {
  leaseSecs: 5,
  maxJobs: 5,
  waitSecs: 1,
  workMs: [5, 50],
  failRate: 0,
  heartbeats: true,
  jobs: 0,
  batch: 1,
  pauseMs: 5,
  task: 'work',
  config: QUICK,
} as const;

export type ActorKind = 'worker' | 'sdk-worker' | 'durable-worker' | 'family-worker' | 'producer';

export type ActorOptions = Pick<ActorSettings, 'urls'> &
  Partial<Omit<ActorSettings, 'name' | 'seed' | 'journal' | 'sdk'>>;

export function startActor(
  kind: ActorKind,
  settings: ActorSettings,
  onUnexpectedExit: (message: string) => void,
): ManagedProcess {
  return new ManagedProcess(
    {
      name: settings.name,
      script: fileURLToPath(new URL(`../actors/${kind}.js`, import.meta.url)),
      env: { CHAOS_ACTOR: JSON.stringify(settings) },
      logFile: settings.journal.replace(/\.journal$/, '.log'),
    },
    // A producer that has created all its jobs exits by itself.
    (message, code) => code !== 0 && onUnexpectedExit(message),
  );
}

/** Called by the process itself. */
export const readSettings = (): ActorSettings => JSON.parse(process.env.CHAOS_ACTOR ?? '{}') as ActorSettings;

export const CREDENTIALS = { tenantKey: TENANT_KEY, workerToken: WORKER_TOKEN } as const;
