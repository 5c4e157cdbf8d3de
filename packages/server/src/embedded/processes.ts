import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Which process a pid meant. Pids are reused, so a pid alone does not identify a process that may have died: its start
 * time goes with it, and on Linux the boot that this time counts from.
 */
export interface ProcessIdentity {
  readonly pid: number;
  readonly started: string;
}

/** Null if there is no such process, or only a zombie. */
export function identify(pid: number): ProcessIdentity | null {
  const started = process.platform === 'linux' ? startedOnLinux(pid) : startedElsewhere(pid);
  return started === null ? null : { pid, started };
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

/** This process. A program that cannot find itself in the process table must not judge others by it. */
export function identifySelf(): ProcessIdentity {
  const self = identify(process.pid);
  if (self === null) throw new Error('cannot read the process table');
  return self;
}

function startedOnLinux(pid: number): string | null {
  const stat = readOrNull(`/proc/${pid}/stat`);
  // The second field is the program's name in parentheses and may contain anything, even spaces and parentheses.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields?.[0], fields?.[19]];
  if (ticks === undefined || state === 'Z' || state === 'X') return null;
  return `${ticks}@${bootId()}`;
}

let boot: string | undefined;

function bootId(): string {
  boot ??= readOrNull('/proc/sys/kernel/random/boot_id')?.slice(0, 8) ?? 'boot';
  return boot;
}

function startedElsewhere(pid: number): string | null {
  try {
    const line = execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], {
      encoding: 'utf8',
      env: { LC_ALL: 'C' },
    });
    const [state, ...started] = line.trim().split(/\s+/);
    return state === undefined || state.startsWith('Z') ? null : started.join('_');
  } catch {
    return null;
  }
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
