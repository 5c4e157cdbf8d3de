import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { serveCalls } from '../env/child.js';
import type { DrainReport } from '../progress.js';
import { CALLS_IN_FLIGHT } from '../work.js';
import type { Backends, ContenderMethods } from './contender.js';

/**
 * River, in Go: a program of its own (river/main.go), which answers each line with a line. It measures itself, so that
 * the way here costs nothing. It adds jobs with COPY (InsertManyFast) and keeps finished jobs.
 */
let child: ChildProcess | null = null;
let lines: Interface;

interface Answer {
  readonly value?: unknown;
  readonly error?: string;
}

async function ask<T>(call: object): Promise<T> {
  child!.stdin!.write(`${JSON.stringify(call)}\n`);
  const [line] = (await Promise.race([once(lines, 'line'), once(child!, 'exit')])) as [unknown];
  if (typeof line !== 'string') throw new Error(`River exited early (${String(line)})`);
  const { value, error } = JSON.parse(line) as Answer;
  if (error !== undefined) throw new Error(`River: ${error}`);
  return value as T;
}

const methods = {
  open: async ({ databaseUrl, riverProgram }: Backends): Promise<void> => {
    child = spawn(riverProgram!, [], { stdio: ['pipe', 'pipe', 'inherit'] });
    lines = createInterface({ input: child.stdout! });
    await ask({ method: 'open', url: databaseUrl });
  },
  enqueue: (jobs: number): Promise<number> => ask({ method: 'enqueue', jobs, callers: CALLS_IN_FLIGHT }),
  drain: (jobs: number): Promise<DrainReport> => ask({ method: 'drain', jobs }),
} satisfies ContenderMethods;

serveCalls(methods, async () => {
  if (child?.exitCode !== null) return;
  const exited = once(child, 'exit');
  child.stdin!.end();
  await exited;
});
