import { randomFillSync } from 'node:crypto';

const POOL = new Uint32Array(4096);
let next = POOL.length;

/** Random words in bulk: a system call for each would cost more than the rest of making an id. */
export function random32(): number {
  if (next === POOL.length) {
    randomFillSync(POOL);
    next = 0;
  }
  return POOL[next++] ?? 0;
}
