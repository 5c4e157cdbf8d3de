import type { ChaosClient } from '../history/client.js';
import type { Breakable } from './breaking.js';

/** Claims jobs of a queue as long as things are broken: most are completed, some fail, some are forgotten. */
export async function consume(
  { stage, going }: Breakable,
  client: ChaosClient,
  queue: string,
  { max, secs }: { readonly max: number; readonly secs: number },
): Promise<void> {
  while (going()) {
    for (const { id, token } of await client.lease(queue, { max, secs, wait: 1 })) {
      await stage.sleep(stage.random.between(0, 20));
      const choice = stage.random.below(20);
      if (choice < 16) await client.complete(id, token);
      else if (choice < 19) await client.fail(id, token);
      // The others expire.
    }
  }
}
