import type { Fault } from '../fault.js';
import type { Database } from '../stage/database.js';
import type { ManagedProcess } from '../stage/processes.js';
import type { Stage } from '../stage/stage.js';

const LANES = 2;
const QUEUE = 'sdk';

/**
 * Workers of the SDK are told to stop at random instants: while they poll, run handlers, gather reports or wait for
 * their answers. What a handler has ended must be reported before its process is gone, and no job may run again.
 */
export const stoppedSdkWorkers: Fault = {
  row: 38,
  name: 'SIGTERM to workers of the SDK at random instants under load',
  check: 'no report is lost, and no completed job runs again',
  unit: 'stops',
  full: 500,
  everyday: 4,
  async run(stage, count) {
    const database = await stage.database();
    const { url } = await stage.server({ database, mode: 'api' });
    stage.poolQueues.add(QUEUE); // its jobs end without a call that the history knows
    const producer = stage.producer({ urls: [url], queue: QUEUE, batch: 20, pauseMs: 100 });
    const workers: ManagedProcess[] = [];
    const start = (maxJobs: number, workMs: readonly [number, number]): ManagedProcess => {
      const worker = stage.sdkWorker({ urls: [url], queue: QUEUE, maxJobs, workMs, leaseSecs: 10 });
      workers.push(worker);
      return worker;
    };
    let left = count;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (left-- > 0) {
          const worker = start(20, [0, 150]);
          await worker.logged('begun');
          await stage.sleep(stage.random.between(0, 400));
          await worker.terminate();
        }
      }),
    );
    await producer.terminate();
    const last = start(200, [0, 5]);
    await stage.drained(database);
    await last.terminate();
    await judge(stage, database, workers);
  },
};

async function judge(stage: Stage, database: Database, workers: readonly ManagedProcess[]): Promise<void> {
  const ended = new Map<string, number>();
  let completed = 0;
  for (const worker of workers) {
    const lines = worker.lines();
    for (const { msg, job } of lines) if (msg === 'ended') ended.set(String(job), (ended.get(String(job)) ?? 0) + 1);
    const stopped = lines.find(({ msg }) => msg === 'stopped');
    completed += Number(stopped?.completed ?? 0);
    stage.expect(
      stopped?.failed === 0,
      `${worker.spec.name} did not stop in order: ${JSON.stringify(stopped ?? null)}`,
    );
  }
  const again = [...ended.values()].filter((times) => times > 1).length;
  stage.expect(again === 0, `${again} jobs ran to their end more than once`);
  stage.expect(completed === ended.size, `of ${ended.size} jobs that ended, the workers reported ${completed}`);
  const jobs = await database.count(`millrace.done WHERE status = 'completed'`);
  stage.expect(jobs === ended.size, `of ${ended.size} jobs that ended, ${jobs} are completed`);
  // No handler fails, so a job that was retried had lost its lease.
  const retried = await database.count('millrace.job_records WHERE retry_count > 0');
  stage.expect(retried === 0, `${retried} jobs lost their lease`);
  stage.note(`${jobs} jobs, ${workers.length} processes`);
}
