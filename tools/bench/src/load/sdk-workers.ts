import { task } from '@millrace/sdk';
import { Worker } from '@millrace/sdk/worker';
import { QUEUE, RESULT, TASK, WORKER_TOKEN } from '../work.js';

/** Workers of the SDK on the same jobs, with as many slots as the other loop holds jobs. */
export interface SdkWork {
  readonly port: number;
  readonly workers: number;
  readonly slots: number;
  readonly jobs: number;
}

const WARM_SHARE = 0.2;
const quiet = (): void => undefined;

/** Resolves to completions per second, without the first fifth. */
export async function workWithSdk({ port, workers, slots, jobs }: SdkWork): Promise<number> {
  const warm = Math.floor(jobs * WARM_SHARE);
  let [done, warmAt, endedAt] = [0, NaN, NaN];
  let end: () => void = quiet;
  const all = new Promise<void>((resolve) => {
    end = resolve;
  });
  const completed = (): void => {
    done += 1;
    if (done === warm) warmAt = performance.now();
    if (done < jobs) return;
    endedAt = performance.now();
    end();
  };
  const running = Array.from({ length: workers }, () => {
    const worker = new Worker({
      url: `http://127.0.0.1:${port}`,
      token: WORKER_TOKEN,
      queues: { [QUEUE]: slots },
      handlers: [task({ name: TASK, queue: QUEUE }).handle(() => RESULT)],
      signals: false,
      logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
      onEvent: ({ type }) => type === 'completed' && completed(),
    });
    return { worker, ended: worker.run() };
  });
  await all;
  await Promise.all(running.map(({ worker, ended }) => worker.stop().then(() => ended)));
  if (done !== jobs) throw new Error(`${done} of ${jobs} jobs were completed`);
  return ((jobs - warm) / (endedAt - warmAt)) * 1_000;
}
