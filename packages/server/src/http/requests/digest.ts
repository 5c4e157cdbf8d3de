import { hash } from 'node:crypto';
import type { JobSpec } from '../../domain/records.js';

/**
 * What a keyed create asks for, as the 53 bits that a number holds exactly, so that a repeat under the same key can be
 * told that it asks for something else. Only requests with a key pay for it.
 */
export function digestOf(text: string): number {
  // In one call, and without a big integer: for each of a thousand items, either would take longer than all else that
  // is done for their keys.
  const bytes = hash('sha256', text, 'binary');
  return (wordAt(bytes, 0) & 0x1fffff) * 0x1_0000_0000 + (wordAt(bytes, 4) >>> 0);
}

const wordAt = (bytes: string, at: number): number =>
  (bytes.charCodeAt(at) << 24) |
  (bytes.charCodeAt(at + 1) << 16) |
  (bytes.charCodeAt(at + 2) << 8) |
  bytes.charCodeAt(at + 3);

/**
 * Of jobs, however they are sent: alone, or in a batch, in which one is mostly like the one before. `metadata` is what
 * the caller sent of it: what the service adds, such as its place in a trace, differs from one repeat to the next.
 */
export function jobDigests(): (spec: JobSpec, metadata?: string) => number {
  let last: JobSpec | null = null;
  let head = '';
  return (spec, metadata) => {
    if (last === null || !isAlike(last, spec)) head = headOf(spec);
    last = spec;
    const { payload } = spec;
    return digestOf(`${head},${payload.length},${JSON.stringify(metadata ?? null)}]${payload}`);
  };
}

/** A list of all that is not a job's own, still open. */
const headOf = ({ task, queue, config, runAt, delaySecs }: JobSpec): string =>
  JSON.stringify([task, queue, config, runAt, delaySecs]).slice(0, -1);

const isAlike = (a: JobSpec, b: JobSpec): boolean =>
  a.task === b.task &&
  a.queue === b.queue &&
  a.config === b.config &&
  a.runAt === b.runAt &&
  a.delaySecs === b.delaySecs;
