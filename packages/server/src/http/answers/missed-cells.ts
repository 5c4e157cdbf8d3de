import type { FastifyRequest } from 'fastify';
import type { Missed } from '../../engine/api.js';

/** The answer says which databases it knows nothing of, each once, however many parts of it were asked for. */
export function tellMissed(request: FastifyRequest): Missed {
  const told = new Set<string>();
  return (cell) => {
    if (told.has(cell)) return;
    told.add(cell);
    const warning = `the cell ${cell} did not answer: its tenants are left out`;
    request.warnings = [...(request.warnings ?? []), warning];
  };
}
