import { readdirSync, readFileSync } from 'node:fs';

/** What Linux says about processes. Where there is no /proc, none is found. */
export interface ProcessStat {
  readonly pid: number;
  readonly parent: number;
  readonly cpuSeconds: number;
  /** Of children that have ended and were waited for. */
  readonly endedChildrenCpuSeconds: number;
}

const TICKS_PER_SECOND = 100;

export function processStat(pid: number): ProcessStat | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in brackets and may itself contain blanks and brackets; only numbers follow the last bracket.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const seconds = (index: number): number => Number(fields[index]) / TICKS_PER_SECOND;
    return {
      pid,
      parent: Number(fields[1]),
      cpuSeconds: seconds(11) + seconds(12),
      endedChildrenCpuSeconds: seconds(13) + seconds(14),
    };
  } catch {
    return null;
  }
}

export function allProcesses(): ProcessStat[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => processStat(Number(name)))
      .filter((stat) => stat !== null);
  } catch {
    return [];
  }
}
