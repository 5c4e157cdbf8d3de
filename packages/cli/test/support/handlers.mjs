// What `millrace worker` is given: handlers by themselves and in arrays, and other things that it leaves alone.
import { task } from '@millrace/sdk';

export const add = task({ name: 'add', queue: 'sums' }).handle(({ a, b }) => ({ sum: a + b }));
export const others = [task({ name: 'negate', queue: 'sums' }).handle(({ a }) => ({ negative: -a }))];
export const version = 1;
