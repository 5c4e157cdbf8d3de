import type { FastifyRequest } from 'fastify';
import type { OnSeparateLimits, OnMissedCell } from '../../engine/api.js';

/** What an answer says that comes from several databases. */

/** Which of them it knows nothing of, each once, however many parts of it were asked for. */
export function warnOfMissedCells(request: FastifyRequest): OnMissedCell {
  const told = new Set<string>();
  return (cell) => {
    if (told.has(cell)) return;
    told.add(cell);
    warn(request, `the cell ${cell} did not answer: its tenants are left out`);
  };
}

/** That limits of a queue are not those of all of them together. */
export function warnOfSeparateLimits(request: FastifyRequest): OnSeparateLimits {
  return (databases) =>
    warn(
      request,
      `running and rate hold in each of ${databases} databases for itself: together they allow that many times as much`,
    );
}

function warn(request: FastifyRequest, warning: string): void {
  request.warnings = [...(request.warnings ?? []), warning];
}
