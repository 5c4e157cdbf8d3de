import type { ActorOptions } from '../stage/actors.js';
import type { Stage } from '../stage/stage.js';

/** Producers and remote workers in processes of their own. */
export interface Load {
  stopProducing(): Promise<void>;
  stopWorking(): Promise<void>;
}

/** Single jobs and batches for two remote workers, and jobs that the servers' own pools run. */
export function startLoad(stage: Stage, urls: readonly string[], worker: Omit<ActorOptions, 'urls'>): Load {
  const producers = [
    stage.producer({ urls, pauseMs: 15 }),
    stage.producer({ urls, pauseMs: 200, batch: 10 }),
    stage.producer({ urls, pauseMs: 10, queue: 'default', task: 'echo' }),
  ];
  const workers = [stage.worker({ urls, ...worker }), stage.worker({ urls, ...worker })];
  return {
    stopProducing: async () => void (await Promise.all(producers.map((producer) => producer.terminate()))),
    stopWorking: async () => void (await Promise.all(workers.map((process) => process.terminate()))),
  };
}
