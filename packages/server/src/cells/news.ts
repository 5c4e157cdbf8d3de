import type { WorkNews } from '../engine/leases/long-poll.js';

/** The news of work of several databases as one. */
export function newsOf(hubs: readonly WorkNews[]): WorkNews {
  return {
    onWork: (queue, listener) => {
      const ends = hubs.map((hub) => hub.onWork(queue, listener));
      return () => ends.forEach((end) => end());
    },
    onAnyWork: (listener) => hubs.forEach((hub) => hub.onAnyWork(listener)),
  };
}
