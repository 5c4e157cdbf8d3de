import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { WORKER_TOKEN } from '../support/server.js';

/** The workers of examples/, as child processes. */
const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

export const WORKERS = {
  'worker.py': ['python3', path('../../../../examples/worker.py')],
  'worker.sh': ['sh', path('../../../../examples/worker.sh')],
} as const;
export type WorkerName = keyof typeof WORKERS;
export const WORKER_NAMES = Object.keys(WORKERS) as WorkerName[];

/** Whether this machine has what the worker needs; if not, its tests show as skipped. */
export function canRun(name: WorkerName): boolean {
  const [program, ...args] = name === 'worker.py' ? ['python3', '--version'] : ['curl', '--version'];
  return spawnSync(program, args).status === 0;
}

const COMMAND: Readonly<Record<WorkerName, readonly string[]>> = {
  'worker.py': [],
  'worker.sh': ['sh', path('./handler.sh')],
};

export interface WorkerProcess {
  readonly exited: Promise<number | null>;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
}

export interface WorkerOptions {
  readonly url: string;
  readonly queue: string;
  /** An hour if absent: nothing runs out while this machine is held up. */
  readonly leaseSecs?: number;
}

/** What Vitest gives a test to clean up after itself; concurrent tests must use their own. */
export type Finally = (cleanUp: () => Promise<void> | void) => void;

/** Runs until the test is over at the latest. */
export function startWorker(
  name: WorkerName,
  { url, queue, leaseSecs = 3_600 }: WorkerOptions,
  finallyDo: Finally,
): WorkerProcess {
  const [program, script] = WORKERS[name];
  const child = spawn(program, [script, queue, ...COMMAND[name]], {
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      MILLRACE_URL: url,
      MILLRACE_WORKER_TOKEN: WORKER_TOKEN,
      LEASE_SECS: String(leaseSecs),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    // Leads its own process group, so that the end of a test also ends the worker's children.
    detached: true,
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const exited = once(child, 'exit').then(([code]) => code as number | null);
  finallyDo(async () => {
    signalGroup(child.pid!, 'SIGKILL');
    await exited;
  });
  return { exited, stderr: () => stderr, signal: (signal) => void child.kill(signal) };
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
