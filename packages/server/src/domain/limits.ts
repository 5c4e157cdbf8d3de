import { hasToken, takeToken, type Bucket } from './rates.js';

/**
 * Limits by key. A job that names limits is admitted to its queue when each of them has room, takes room at all of them
 * at that moment, and gives it back when the attempt ends; a token of a rate (rates.ts) it has used. Until then it
 * waits in the line of one limit that has none; nothing is reserved for it anywhere.
 */

/** A limit while somebody holds it. */
export interface Room {
  /** How many jobs hold room. */
  running: number;
  /** How many may; Infinity if only its rate counts. */
  most: number;
  /** Somebody is in its line. */
  waiting: boolean;
  /** If it has a rate: a job that is admitted takes a token as well. */
  readonly bucket?: Bucket | undefined;
}

/** By id. What is not in it is held by somebody else. */
export type Rooms = ReadonlyMap<string, Room>;

const hasRoom = (room: Room | undefined): room is Room =>
  room !== undefined && room.running < room.most && (room.bucket === undefined || hasToken(room.bucket));

/**
 * Where a new job goes: null if it is admitted, and has taken its room; otherwise the limit in whose line it waits. It
 * does not overtake those who wait already.
 */
export function placeNew(limits: readonly string[], rooms: Rooms): string | null {
  const closed = limits.find((id) => !hasRoom(rooms.get(id)) || rooms.get(id)!.waiting);
  if (closed === undefined) {
    take(limits, rooms);
    return null;
  }
  const room = rooms.get(closed);
  if (room) room.waiting = true;
  return closed;
}

/** The first in the line of a limit. */
export interface Line<Job> {
  readonly limit: string;
  readonly jobs: readonly Job[];
  /** Nobody is behind them. */
  readonly isWhole: boolean;
}

export interface LineMove<Job> {
  readonly job: Job;
  readonly from: string;
  /** Null: into its queue. */
  readonly to: string | null;
}

export interface AdmitResult<Job> {
  readonly moves: readonly LineMove<Job>[];
  /** Limits that a job in front needs, each with such a job: somebody else holds them, or they have been dropped. */
  readonly missing: ReadonlyMap<string, Job>;
  /** Limits that have room although somebody is in their line: they must be looked at again. */
  readonly unfinished: ReadonlySet<string>;
}

/**
 * Lets jobs out of lines, each line in its order, while there is room. A job that finds another of its limits full
 * changes to the line of that one. One whose other limit is not to be had stays, and those behind it may pass.
 */
export function admit<Job extends { readonly limits: readonly string[] }>(
  lines: readonly Line<Job>[],
  rooms: Rooms,
): AdmitResult<Job> {
  const moves: LineMove<Job>[] = [];
  const missing = new Map<string, Job>();
  const joined = new Set<string>();
  const left = new Map(lines.map(({ limit, jobs }) => [limit, jobs.length]));
  for (const { limit, jobs } of lines) {
    for (const job of jobs) {
      if (!hasRoom(rooms.get(limit))) break;
      const unknown = job.limits.filter((id) => !rooms.has(id));
      for (const id of unknown) missing.set(id, job);
      if (unknown.length > 0) continue;
      const to = job.limits.find((id) => !hasRoom(rooms.get(id))) ?? null;
      if (to === null) take(job.limits, rooms);
      else joined.add(to);
      moves.push({ job, from: limit, to });
      left.set(limit, left.get(limit)! - 1);
    }
  }
  for (const id of joined) rooms.get(id)!.waiting = true;
  for (const { limit, isWhole } of lines)
    rooms.get(limit)!.waiting = !isWhole || left.get(limit)! > 0 || joined.has(limit);
  const unfinished = lines.filter(({ limit }) => rooms.get(limit)!.waiting && hasRoom(rooms.get(limit)));
  return { moves, missing, unfinished: new Set(unfinished.map(({ limit }) => limit)) };
}

/** Whether somebody could be let in: there is room, and somebody waits. */
export const couldAdmit = (room: Room): boolean => room.waiting && hasRoom(room);

function take(limits: readonly string[], rooms: Rooms): void {
  for (const id of limits) {
    const room = rooms.get(id)!;
    room.running++;
    if (room.bucket) takeToken(room.bucket);
  }
}
