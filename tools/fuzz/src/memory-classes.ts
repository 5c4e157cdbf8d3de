import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '@millrace/tools-shared';
import { learn } from './learn.js';
import { CLASSES, makeCaseOf } from './mutations/index.js';
import { RawClient } from './raw-client.js';
import { CLIENTS, withTarget, worldOf, type RunOptions } from './run.js';
import type { Target } from './target.js';
import type { World } from './valid.js';

/** What one class of requests takes of the server's resident memory, in bytes. */
export interface ClassMemory {
  readonly name: string;
  readonly requests: number;
  /** The most beyond what was resident before, per request in progress. */
  readonly inProgress: number;
  /** What is resident afterwards beyond what was before, per request sent: garbage that was not collected included. */
  readonly left: number;
}

const WARM_UP = 1_000;
const PER_CLASS = 100;
/** Of each class, the round in which it took least counts. */
const ROUNDS = 3;
const SAMPLE_MS = 25;

/** Sends the classes one after the other, to a server that is warm and holds some data. */
export const measureClasses = (
  options: Pick<RunOptions, 'seed' | 'databaseUrl' | 'say' | 'signal'>,
  classes: readonly string[] = CLASSES,
): Promise<ClassMemory[]> =>
  withTarget(options, async (target, callers, random) => {
    const world = await worldOf(target, callers);
    await send(target, world, 'none', WARM_UP, random.fork('warm-up'));
    const measured = new Map<string, ClassMemory>();
    for (let round = 1; round <= ROUNDS; round++) {
      for (const name of classes) {
        if (options.signal?.aborted === true) break;
        const now = await measure(target, world, name, random.fork(`${name} ${round}`));
        if (!target.isAlive()) throw new Error(`the server is gone: ${name} was sent last`);
        measured.set(name, lesser(now, measured.get(name) ?? now));
      }
      options.say(`round ${round} of ${ROUNDS}`);
    }
    return [...measured.values()].sort((x, y) => y.inProgress - x.inProgress);
  });

/** The collector lets memory grow at times that have nothing to do with what is sent just then. */
const lesser = (x: ClassMemory, y: ClassMemory): ClassMemory => ({
  ...x,
  inProgress: Math.min(x.inProgress, y.inProgress),
  left: Math.min(x.left, y.left),
});

async function measure(target: Target, world: World, name: string, random: Random): Promise<ClassMemory> {
  const before = await resident(target);
  const peak = watchPeak(target);
  await send(target, world, name, PER_CLASS, random);
  const most = await peak.stop();
  const after = await resident(target);
  return {
    name,
    requests: PER_CLASS,
    inProgress: Math.max(0, Math.round((most - before) / CLIENTS)),
    left: Math.round((after - before) / PER_CLASS),
  };
}

const resident = async (target: Target): Promise<number> => (await target.memory())?.resident ?? 0;

function watchPeak(target: Target): { stop(): Promise<number> } {
  let most = 0;
  let isOver = false;
  const watch = async (): Promise<void> => {
    do {
      const now = await resident(target);
      most = Math.max(most, now);
      await sleep(SAMPLE_MS);
    } while (!isOver);
  };
  const watching = watch();
  return {
    stop: async () => {
      isOver = true;
      await watching;
      return most;
    },
  };
}

async function send({ port }: Target, world: World, name: string, count: number, random: Random): Promise<void> {
  let next = 0;
  const sendInTurn = async (): Promise<void> => {
    const client = new RawClient(port);
    while (next < count) {
      const testCase = makeCaseOf(name, world, random.fork(next++));
      learn(world, testCase, await client.send(testCase));
    }
    client.close();
  };
  await Promise.all(Array.from({ length: CLIENTS }, sendInTurn));
}

export function memoryTable(classes: readonly ClassMemory[]): string {
  const kibibytes = (bytes: number): string => String(Math.round(bytes / 1024)).padStart(10);
  return [
    `${'class'.padEnd(26)}${'KiB per request'.padStart(18)}${'KiB left'.padStart(11)}`,
    ...classes.map(({ name, inProgress, left }) => `${name.padEnd(34)}${kibibytes(inProgress)}${kibibytes(left)}`),
  ].join('\n');
}
