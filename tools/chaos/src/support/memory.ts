import { readFileSync } from 'node:fs';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';

const MEBIBYTE = 1024 * 1024;
/** The heap that NODE_OPTIONS leaves to servers (`--max-old-space-size`), in mebibytes. */
const [, HEAP] = /--max-old-space-size=(\d+)/.exec(process.env.NODE_OPTIONS ?? '') ?? [];
/** The most a server may ever have resident, whatever its clients do: with a smaller heap, 256 MiB more than that. */
export const MOST_RESIDENT_BYTES = (HEAP === undefined ? 1024 : Math.min(1024, Number(HEAP) + 256)) * MEBIBYTE;

/** The most a running process has had resident so far; null where there is no /proc to ask. */
export function peakResidentBytes(pid: number): number | null {
  try {
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kibibytes === undefined ? null : Number(kibibytes) * 1024;
  } catch {
    return null;
  }
}

/** To be called before a server is stopped, since its peak goes with it. */
export function expectModestMemory(stage: Stage, server: ServerProcess): void {
  const peak = peakResidentBytes(server.process.pid);
  if (peak === null) return stage.note(`the memory of ${server.name} is not known`);
  stage.note(`${server.name} had ${mebibytes(peak)} of memory resident at most`);
  stage.expect(
    peak < MOST_RESIDENT_BYTES,
    `${server.name} had ${mebibytes(peak)} of memory resident, at most ${mebibytes(MOST_RESIDENT_BYTES)} are allowed`,
  );
}

export const mebibytes = (bytes: number): string => `${Math.round(bytes / MEBIBYTE)} MiB`;
