import { setTimeout as sleep } from 'node:timers/promises';
import { median } from '@millrace/tools-shared';
import type { Page } from 'playwright-core';
import type { Case, Finding, Stage } from '../case.js';
import { heapBytes } from '../measure.js';

const PATHS = ['/', '/jobs', '/queues/default', '/dead-letters'] as const;
/** What belongs to getting going: caches that fill, code that is compiled. */
const WARM_UP = 0.1;
/** Flat: the last quarter is at most so much above the first. */
const GROWTH = 1.1;
const SAMPLES = 60;
const LEAST_PAUSE_MS = 5000;
const JOBS_PER_BEAT = 20;
const BEAT_MS = 100;

/** Pages that are left open on a busy service: what they hold stays what it is. */
export const heap: Case = {
  name: 'heap',
  title: 'Pages left open on a busy service',
  run: async (stage) => {
    const { minutes } = stage.options;
    if (minutes === 0) return [];
    const stop = new AbortController();
    const traffic = keepBusy(stage, stop.signal);
    const pages: Page[] = [];
    for (const path of PATHS) pages.push(await stage.visit(path));
    const samples = PATHS.map((): number[] => []);
    const pauseMs = Math.max((minutes * 60_000) / SAMPLES, LEAST_PAUSE_MS);
    const rounds = Math.round((minutes * 60_000) / pauseMs);
    for (let round = 0; round < rounds; round++) {
      await sleep(pauseMs);
      for (const [index, page] of pages.entries()) samples[index]?.push(await heapBytes(page));
      if (round % 10 === 0) stage.say(`heap: ${samples.map((values) => megabytes(values.at(-1) ?? 0)).join(', ')} MB`);
    }
    stop.abort();
    const jobs = await traffic;
    for (const page of pages) await page.context().close();
    const rate = Math.round(jobs / (minutes * 60));
    return PATHS.map((path, index) => judge(`${path}, ${minutes} min at ${rate} jobs/s`, samples[index] ?? []));
  },
};

function judge(what: string, values: readonly number[]): Finding {
  const warm = values.slice(Math.floor(values.length * WARM_UP));
  const quarter = Math.max(1, Math.floor(warm.length / 4));
  const [first, last] = [median(warm.slice(0, quarter)), median(warm.slice(-quarter))];
  return {
    what,
    result: `${megabytes(first)} MB at first, ${megabytes(last)} MB at the end`,
    aim: `flat (at most ${Math.round((GROWTH - 1) * 100)} % more)`,
    ok: last <= first * GROWTH,
  };
}

const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

/** Creates jobs, some of which fail, until told to stop. Resolves to how many. */
async function keepBusy({ tenant }: Stage, signal: AbortSignal): Promise<number> {
  let created = 0;
  while (!signal.aborted) {
    const jobs = Array.from({ length: JOBS_PER_BEAT }, (_, n) =>
      n === 0
        ? { task_name: 'fail', payload: { message: `broken: ${created}`, permanent: true } }
        : { task_name: 'echo', payload: { n: created + n } },
    );
    await tenant.post('/jobs/batch', { jobs });
    created += JOBS_PER_BEAT;
    await sleep(BEAT_MS);
  }
  return created;
}
