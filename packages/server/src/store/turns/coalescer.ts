import { setTimeout as delay } from 'node:timers/promises';
import { busy } from '../failures.js';

/**
 * Asks the same question only once at a time: a caller whose question is already being asked waits for the next answer
 * and shares it with every caller that arrives in the meantime. The answer already under way is not shared, because it
 * may miss what the caller has just written. So a shared answer is as exact as one's own, and the same question never
 * runs twice at once. A question may have to rest before it is asked again; those who ask it meanwhile share the
 * answer.
 */
interface Flight<T> {
  readonly current: Promise<T>;
  next: Promise<T> | null;
}

const WAIT_MS = 5_000;

export class Coalescer {
  readonly #flights = new Map<string, Flight<unknown>>();

  constructor(
    private readonly restMs: (question: string) => number = () => 0,
    private readonly waitMs = WAIT_MS,
  ) {}

  ask<T>(question: string, answer: () => Promise<T>): Promise<T> {
    const flight = this.#flights.get(question) as Flight<T> | undefined;
    if (!flight) return this.#begin(question, answer);
    flight.next ??= flight.current.then(
      () => this.#begin(question, answer),
      () => this.#begin(question, answer),
    );
    return this.#within(flight.current, flight.next);
  }

  #begin<T>(question: string, answer: () => Promise<T>): Promise<T> {
    const restMs = this.restMs(question);
    const current = restMs === 0 ? answer() : delay(restMs).then(answer);
    const flight: Flight<T> = { current, next: null };
    this.#flights.set(question, flight);
    const forget = (): void => {
      if (flight.next === null) this.#flights.delete(question);
    };
    current.then(forget, forget);
    return current;
  }

  /** Waits at most `waitMs` for its turn; once the statement has begun, it has a deadline of its own. */
  #within<T>(begun: Promise<unknown>, next: Promise<T>): Promise<T> {
    // Callers that have given up are not told how it ended.
    next.catch(() => undefined);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(busy('the same query is still running')), this.waitMs);
      const stop = (): void => clearTimeout(timer);
      begun.then(stop, stop);
      next.then(resolve, reject);
    });
  }
}
