import { unavailable } from '../domain/errors.js';
import type { Engine } from '../engine/api.js';
import type { EngineParts } from '../engine/engine.js';

/** One of several databases, each of which holds the tenants of its range, and the engine on it. */
export interface Cell {
  readonly name: string;
  readonly engine: EngineParts;
  /** Its database is out of reach: callers are told at once, and the others are served as ever. */
  readonly isAway: () => boolean;
  /** Aborts when tenants leave this cell: who follows something of theirs has to follow it elsewhere. */
  readonly moved: () => AbortSignal;
}

/** Who leads where. Throws if the cell is away. */
export interface CellRouter {
  readonly cells: readonly Cell[];
  readonly ofTenant: (tenant: string) => Engine;
  /** What is no id was never given out: any cell says so. */
  readonly ofId: (id: string) => Engine;
  /** Until the signal aborts, or what the id names leaves its cell. */
  readonly whileHere: (id: string, signal: AbortSignal) => AbortSignal;
}

export const away = ({ name }: Pick<Cell, 'name'>, cause?: unknown): Error =>
  unavailable(`the database of the cell ${name} is out of reach; try again shortly`, cause);

/** Those that answer, as far as is known. */
export function present<C extends Pick<Cell, 'name' | 'isAway'>>(cells: readonly C[]): readonly C[] {
  const found = cells.filter(({ isAway }) => !isAway());
  if (found.length === 0) throw unavailable('every database of the service is out of reach; try again shortly');
  return found;
}
