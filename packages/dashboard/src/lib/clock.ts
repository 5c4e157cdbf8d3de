import { useEffect } from 'react';
import { createStore, useStore } from './store.js';

/**
 * The server's clock as far as the browser can know it: instants of jobs come from the database, and a laptop that is
 * two minutes behind must not show a job that begins "in 2 min" and runs already.
 */
let offsetMs = 0;

export function setServerNow(now: string): void {
  const server = Date.parse(now);
  // A difference of seconds is the way of the answer, not of the clocks.
  if (Number.isFinite(server)) offsetMs = Math.abs(server - Date.now()) < 2000 ? 0 : server - Date.now();
}

export const serverNow = (): number => Date.now() + offsetMs;

/**
 * Spans begin at whole steps of this, so that the address of a request stays the same from poll to poll. It is the
 * finest step of plots, which the server keeps for an hour: a span is cut, never longer, or it would get coarser steps.
 */
const STEP_MS = 15_000;

/** The instant at which a span until now begins. */
export const beginOfSpan = (ms: number): string =>
  new Date(Math.ceil((serverNow() - ms) / STEP_MS) * STEP_MS).toISOString();

const TICK_MS = 1000;
const tick = createStore(serverNow());
let watchers = 0;
let timer: number | undefined;

/** The time, second by second while the page is visible; one timer for all who ask. */
export function useNow(): number {
  useEffect(() => {
    watchers += 1;
    timer ??= window.setInterval(() => {
      if (!document.hidden) tick.set(serverNow());
    }, TICK_MS);
    return () => {
      watchers -= 1;
      if (watchers > 0) return;
      window.clearInterval(timer);
      timer = undefined;
    };
  }, []);
  return useStore(tick);
}
