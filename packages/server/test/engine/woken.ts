import type { TestServer } from '../support/server.js';
import { until } from '../support/until.js';

/** The longest that a call may wait. */
export const LONGEST_SECS = 30;

/** The time of a call was up before it was answered. */
class RanOut extends Error {}

export interface Waits {
  /** Begins a call that waits for LONGEST_SECS. An answer counts only if it came before that time was up. */
  begin<T>(call: () => Promise<T>): Promise<T>;
  /** Until it is so, or a call that was begun is over. */
  until(probe: () => Promise<boolean>): Promise<void>;
}

/**
 * For calls that wait for what the test brings about afterwards. On a machine that is held up their time may be up
 * before that: then they come back with nothing, or with what they see at their end and were never told. Such a try
 * counts for nothing, and the next one has calls and jobs of its own.
 */
export async function woken<T>(attempt: (waits: Waits) => Promise<T>): Promise<T> {
  const { found } = await until(
    async () => {
      let isOver = false;
      const begin = <A>(call: () => Promise<A>): Promise<A> => {
        const startedAt = performance.now();
        const answered = call()
          .then((answer) => {
            if (performance.now() - startedAt > LONGEST_SECS * 1000 - 100) throw new RanOut();
            return answer;
          })
          .finally(() => (isOver = true));
        // It may run out while the test awaits something else.
        answered.catch(() => undefined);
        return answered;
      };
      const orOver = async (probe: () => Promise<boolean>): Promise<void> =>
        void (await until(async () => isOver || (await probe())));
      try {
        return { found: await attempt({ begin, until: orOver }) };
      } catch (error) {
        if (error instanceof RanOut) return 'its time was up';
        throw error;
      }
    },
    { what: 'a call to be answered while it waits' },
  );
  return found;
}

/** Calls that wait for jobs, as the server counts them. */
export async function longPolls({ metricsUrl }: Pick<TestServer, 'metricsUrl'>): Promise<number> {
  const page = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(/^millrace_long_polls (\d+)$/m.exec(page)?.[1]);
}
