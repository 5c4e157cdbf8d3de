import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';

/** The step in which code runs, however many promises away from its beginning. */
interface CurrentStep {
  /** Stands for the name, which may hold what no key can. */
  readonly mark: string;
  calls: number;
}

const current = new AsyncLocalStorage<CurrentStep>();

/** Runs the code of a step; each try of it counts its calls from one. */
export const withinStep = <T>(name: string, run: () => T): T =>
  current.run({ mark: createHash('sha256').update(name).digest('hex').slice(0, 16), calls: 0 }, run);

/**
 * Numbers the calls that create jobs without a name: within their step, never within the handler. A step that is
 * skipped in a later attempt must not shift the numbers of what comes after it.
 */
export class CallOrdinals {
  #outside = 0;

  next(): string {
    const step = current.getStore();
    return step === undefined ? String(++this.#outside) : `${step.mark}:${++step.calls}`;
  }
}
