import { readMetrics } from '@millrace/tools-shared';
import type { ChaosClient } from '../history/client.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { QUICK } from '../stage/actors.js';
import { probeHealth } from './health.js';
import { mebibytes } from './memory.js';

/** What others may notice of what one tenant does, on a machine that has nothing else to do. */
const HEALTH_MS = 250;
const CREATE_MS = 1_000;
const EVERY_MS = 50;
/** What the bodies of all requests may hold together. */
const MOST_BODY_BYTES = 128 * 1024 * 1024;

/** How often the bodies are looked at, and how often they must be found the same to have all arrived. */
const LOOK_MS = 200;
const LOOKS = 5;

const bodyBytes = async ({ metricsUrl }: ServerProcess): Promise<number> =>
  (await readMetrics(metricsUrl))('millrace_request_body_bytes');

/** Resolves once bodies are held, and no more of them arrive. */
export async function untilBodiesHaveArrived({ stage, server }: Bystander): Promise<void> {
  let before = 0;
  for (let same = 0; same < LOOKS;) {
    const now = await bodyBytes(server);
    same = now > 0 && now === before ? same + 1 : 0;
    before = now;
    await stage.sleep(LOOK_MS);
  }
}

export interface Bystander {
  readonly stage: Stage;
  readonly server: ServerProcess;
  /** Of another tenant. */
  readonly client: ChaosClient;
}

/**
 * For so long, or until something has ended, while something is done to the server: `/health` answers, another tenant
 * creates jobs, and bodies stay within their budget. `queue` is where the jobs are left.
 */
export async function standBy(
  { stage, server, client }: Bystander,
  queue: string,
  until: number | Promise<unknown>,
): Promise<void> {
  let isOver = until === 0;
  const over = typeof until === 'number' ? stage.sleep(until) : until;
  const note = (): void => void (isOver = true);
  void over.then(note, note);
  let slowest = 0;
  let health = 0;
  let held = 0;
  do {
    health = Math.max(health, await probeHealth(stage, server, HEALTH_MS));
    const created = await client.create('work', { config: { queue, ...QUICK } });
    stage.expect(created.status === 201, `the other tenant's create was answered ${created.status ?? 'not at all'}`);
    stage.expectWithin(CREATE_MS, created.ms, "the other tenant's create");
    slowest = Math.max(slowest, created.ms);
    const now = await bodyBytes(server);
    held = Math.max(held, now);
    await stage.sleep(EVERY_MS);
  } while (!isOver);
  await over;
  stage.expect(held <= MOST_BODY_BYTES, `request bodies held ${mebibytes(held)} at once`);
  stage.note(
    `the other tenant's slowest create took ${Math.round(slowest)} ms, the slowest /health ${Math.round(health)} ms; ` +
      `bodies held ${mebibytes(held)} at most`,
  );
}
