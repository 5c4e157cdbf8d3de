import { readFileSync } from 'node:fs';
import { allProcesses, processStat, type ProcessStat } from '@millrace/tools-shared';

/** What Linux says about processes. Elsewhere there is no /proc, and the numbers that need it are left out. */

/** Seconds of processor time that one process has used. */
export const cpuSeconds = (pid: number): number => processStat(pid)?.cpuSeconds ?? NaN;

/**
 * The same for a process and all its descendants, including those that have ended: a PostgreSQL server, for example.
 */
export function treeCpuSeconds(root: number): number {
  const children = new Map<number, ProcessStat[]>();
  for (const stat of allProcesses()) children.set(stat.parent, [...(children.get(stat.parent) ?? []), stat]);
  const sum = ({ pid, cpuSeconds: own, endedChildrenCpuSeconds: ended }: ProcessStat): number =>
    own + ended + (children.get(pid) ?? []).reduce((total, child) => total + sum(child), 0);
  const top = processStat(root);
  return top ? sum(top) : NaN;
}

/** Of those programs that this process has started, and that have ended: a load generator, for example. */
export const endedChildrenCpuSeconds = (): number => processStat(process.pid)?.endedChildrenCpuSeconds ?? NaN;

export function residentMiB(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kib) / 1024;
  } catch {
    return NaN;
  }
}
