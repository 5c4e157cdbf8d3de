import { spawn, type ChildProcess, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import { onExit } from './exit.js';

export interface ProgramSpec {
  readonly script: string;
  readonly args?: readonly string[];
  /** Passed to node itself, before the script. */
  readonly nodeArgs?: readonly string[];
  /** Replaces the environment of the caller, so that no MILLRACE_ variable slips in. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdio: StdioOptions;
  /** What it is sent if this process exits before it does; SIGKILL unless it has something to put in order. */
  readonly atExit?: NodeJS.Signals;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A Node.js program in a process of its own, which does not outlive this one. */
export interface Program {
  readonly child: ChildProcess;
  readonly pid: number;
  /** It is gone, and all of its output has been read. */
  readonly exited: Promise<Exit>;
  readonly isAlive: () => boolean;
  /** Sends a signal, SIGTERM unless another is named; resolves when the program is gone. */
  readonly end: (signal?: NodeJS.Signals) => Promise<Exit>;
}

export function startProgram({ script, args = [], nodeArgs = [], env, stdio, atExit }: ProgramSpec): Program {
  const child = spawn(process.execPath, [...nodeArgs, script, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio,
  });
  const forget = onExit(() => child.kill(atExit ?? 'SIGKILL'));
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  const exited = once(child, 'close').then(([code, signal]: unknown[]): Exit => {
    forget();
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  return {
    child,
    pid: child.pid ?? -1,
    exited,
    isAlive,
    end: (signal = 'SIGTERM') => {
      if (isAlive()) child.kill(signal);
      return exited;
    },
  };
}
