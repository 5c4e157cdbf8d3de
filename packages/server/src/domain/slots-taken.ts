/**
 * How many of its slots a worker uses that holds so many jobs. It may hold more than it has slots: a handler that has
 * ended has left its slot to the next job, while its end is still being reported; and a lease that has just run out
 * counts as held until that is noticed.
 */
export const slotsTaken = (held: number, slots: number): number => Math.min(held, slots);
