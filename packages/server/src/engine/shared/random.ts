import { randomBytes } from 'node:crypto';

const POOLED = 4096;
let pool = '';
let next = 0;

/** 32 random bits as hex digits. Made in bulk: one system call per id would cost more than everything else about it. */
export function random32(): string {
  if (next === pool.length) {
    pool = randomBytes(POOLED * 4).toString('hex');
    next = 0;
  }
  next += 8;
  return pool.slice(next - 8, next);
}
