import { monotonicMicros } from '@millrace/tools-shared';
import { perRound } from '../bench.js';
import type { EmbeddingMethods } from '../servers/embedding.js';

const CONNECTIONS = 64;
const PLAIN_PER_WORKFLOW = 3;

/**
 * Workflows of three steps in a row compared with plain jobs, both created one by one over HTTP and run to their end in
 * the same process.
 */
export const workflows = perRound(async (scope) => {
  const { scale, results } = scope.bench;
  const database = await scope.database('millrace');
  const embedding = scope.child<EmbeddingMethods>('servers/embedding.js');
  const port = await embedding.call('start', { url: database.url });
  const load = scope.load();
  const ended = { jobs: 0, workflows: 0 };
  /** Runs `count` of them to their end; resolves to how many ended per second. */
  const run = async (what: 'single' | 'workflow', count: number): Promise<number> => {
    ended.jobs += what === 'single' ? count : PLAIN_PER_WORKFLOW * count;
    ended.workflows += what === 'single' ? 0 : count;
    const startedAt = monotonicMicros();
    await load.call('count', { port, connections: CONNECTIONS, what, count });
    const endedAt = await embedding.call('completed', ended);
    return (count / (endedAt - startedAt)) * 1e6;
  };
  const { workflows: count } = scale.jobs;
  await run('single', Math.ceil(count / 4));
  await run('workflow', Math.ceil(count / 8));
  results.record('workflows.plain', await run('single', count * PLAIN_PER_WORKFLOW));
  results.record('workflows.three-steps', await run('workflow', count));
});
