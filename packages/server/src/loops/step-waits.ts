import { WAITS_QUEUE } from '@millrace/contract';
import type { Logger } from 'pino';
import type { StepEnder } from '../engine/durable/step-ender.js';
import type { Hub } from '../engine/shared/hub.js';
import { createLoop, type Loop } from './loop.js';

/** The janitor wakes it long before. */
const UNWOKEN_MS = 300_000;

/**
 * Ends steps that waited for a signal, in every process: when a signal comes, at deadlines, and whenever the janitor
 * has seen that steps wait, for what nobody has told this process because whoever could died.
 */
export function createStepWaitsLoop(ender: StepEnder, hub: Hub, logger: Logger): Loop {
  const loop = createLoop(
    'step waits',
    UNWOKEN_MS,
    async () => {
      const secs = await ender.run();
      return secs === null ? UNWOKEN_MS : Math.min(secs * 1000, UNWOKEN_MS);
    },
    logger,
  );
  const stopListening = hub.onWork(WAITS_QUEUE, () => loop.wake());
  return {
    ...loop,
    stop: async () => {
      stopListening();
      await loop.stop();
    },
  };
}
