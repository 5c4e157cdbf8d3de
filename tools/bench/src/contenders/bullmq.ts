import { Queue, Worker } from 'bullmq';
import { serveCalls } from '../env/child.js';
import { Progress, type DrainReport } from '../progress.js';
import { BATCH, PAYLOAD, RESULT, TASK } from '../work.js';
import { inBatches, type Backends, type ContenderMethods } from './contender.js';

/**
 * BullMQ on a Redis that is as durable as the PostgreSQL of the others. It is faster with a hundred jobs at a time than
 * ten.
 */
const CONCURRENCY = 100;

let connection: { host: string; port: number };
let queue: Queue;

const specs = Array.from({ length: BATCH }, () => ({ name: TASK, data: PAYLOAD }));

async function drain(jobs: number): Promise<DrainReport> {
  const progress = new Progress(jobs);
  const handler = async (): Promise<typeof RESULT> => {
    progress.tick();
    return RESULT;
  };
  const worker = new Worker(TASK, handler, { connection, concurrency: CONCURRENCY });
  let completed = 0;
  // Emitted when Redis has acknowledged the move, so the last event is the committed end.
  await new Promise<void>((resolve) => worker.on('completed', () => void (++completed === jobs && resolve())));
  const report = progress.report();
  await worker.close();
  return report;
}

const methods = {
  open: async ({ redisPort }: Backends): Promise<void> => {
    connection = { host: '127.0.0.1', port: redisPort ?? 0 };
    queue = new Queue(TASK, { connection });
    await queue.waitUntilReady();
    await queue.obliterate({ force: true });
  },
  enqueue: (jobs: number): Promise<number> => inBatches(jobs, () => queue.addBulk(specs)),
  drain,
} satisfies ContenderMethods;

export type BullmqMethods = typeof methods;

serveCalls(methods, () => queue.close());
