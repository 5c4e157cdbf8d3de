import type { Fault } from '../fault.js';
import type { ChaosClient } from '../history/client.js';
import { QUICK } from '../stage/actors.js';
import type { Database } from '../stage/database.js';
import type { ServerProcess } from '../stage/server.js';
import type { Stage } from '../stage/stage.js';
import { expectModestMemory } from '../support/memory.js';

const MIB = 1024 * 1024;
const ARGS = [`--max-payload-bytes=${16 * MIB}`, `--max-body-bytes=${17 * MIB}`];
const TEXT = 'x'.repeat(8 * MIB - 1024);
const MOST_DEPENDENTS = 300;
const WITHIN_MS = 900_000;

/**
 * One step has a result of 8 MiB, and hundreds of steps receive it, each in the payload of its job. The server is
 * killed with a third of them done, and has to get through the rest after its restart.
 */
export const largeContext: Fault = {
  row: 29,
  name: 'a step of 8 MiB with three hundred dependents, killed in the middle',
  check: 'the workflow completes, memory below 1 GiB before and after the kill',
  unit: 'dependents',
  full: 2 * MOST_DEPENDENTS,
  everyday: 12,
  rare: true,
  async run(stage, count) {
    const database = await stage.database();
    const server = await stage.server({ database, args: ARGS });
    const client = stage.client(server, { timeoutMs: 120_000 });
    for (let left = count; left > 0; left -= MOST_DEPENDENTS) {
      await fanOut(stage, database, server, client, Math.min(left, MOST_DEPENDENTS));
    }
    await stage.drained(database, WITHIN_MS);
    const lost = await database.count(`millrace.job_records WHERE status <> 'completed'`);
    stage.expect(lost === 0, `${lost} steps did not complete`);
    expectModestMemory(stage, server);
  },
};

async function fanOut(
  stage: Stage,
  database: Database,
  server: ServerProcess,
  client: ChaosClient,
  dependents: number,
): Promise<void> {
  const steps = [
    { name: 'root', task_name: 'echo', payload: { text: TEXT }, config: QUICK },
    ...Array.from({ length: dependents }, (_, n) => ({
      name: `dependent-${n}`,
      task_name: 'sleep',
      payload: { duration_ms: 0 },
      depends_on: ['root'],
      config: QUICK,
    })),
  ];
  const before = await database.count('millrace.done');
  const { status, body } = await client.send('other', 'POST', '/api/v1/workflows', { body: { name: 'wide', steps } });
  stage.expect(status === 201, `a wide workflow was answered ${status ?? 'not at all'}`);
  if (status !== 201) return;
  const third = before + 1 + Math.ceil(dependents / 3);
  await stage.until(async () => (await database.count('millrace.done')) >= third, {
    what: 'a third of the dependents to complete',
    withinMs: WITHIN_MS,
    everyMs: 50,
  });
  expectModestMemory(stage, server);
  await server.crashAndRestart();
  await database.expirePoolLeases();
  const path = `/api/v1/workflows/${String(body.workflow_id)}`;
  await stage.until(async () => (await database.count('millrace.done')) === before + 1 + dependents, {
    what: 'the other dependents to complete',
    withinMs: WITHIN_MS,
    everyMs: 50,
  });
  const reply = await client.send('other', 'GET', path);
  stage.expect(reply.body.status === 'completed', `the wide workflow is ${String(reply.body.status)}`);
  const context = reply.body.context as { readonly text?: string; readonly root?: { readonly text?: string } } | null;
  stage.expect(context?.text === TEXT && context.root?.text === TEXT, 'the context lacks the result of its first step');
}
