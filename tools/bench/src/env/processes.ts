import { readdirSync, readFileSync } from 'node:fs';

/** What Linux says about processes. Elsewhere there is no /proc, and the numbers that need it are left out. */
const TICKS_PER_SECOND = 100;

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly seconds: number;
  /** Of children that ended and were waited for. */
  readonly buriedSeconds: number;
}

/** Seconds of processor time that one process has used. */
export const cpuSeconds = (pid: number): number => stat(pid)?.seconds ?? NaN;

/** The same of a process with all its descendants, ended ones included: a PostgreSQL server, for instance. */
export function treeCpuSeconds(root: number): number {
  const children = new Map<number, Stat[]>();
  for (const each of allProcesses()) children.set(each.parent, [...(children.get(each.parent) ?? []), each]);
  const sum = (own: Stat): number =>
    own.seconds + own.buriedSeconds + (children.get(own.pid) ?? []).reduce((total, child) => total + sum(child), 0);
  const top = stat(root);
  return top ? sum(top) : NaN;
}

export function residentMiB(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib) / 1024;
  } catch {
    return NaN;
  }
}

function allProcesses(): Stat[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => stat(Number(name)))
      .filter((each) => each !== null);
  } catch {
    return [];
  }
}

function stat(pid: number): Stat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name may hold blanks and brackets of its own; what follows its last bracket is numbers.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const ticks = (index: number): number => Number(fields[index]) / TICKS_PER_SECOND;
    return { pid, parent: Number(fields[1]), seconds: ticks(11) + ticks(12), buriedSeconds: ticks(13) + ticks(14) };
  } catch {
    return null;
  }
}
