import pg from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../../support/database.js';
import { lockWaits } from '../../support/lock-waits.js';
import { startTestServer, TENANT_A } from '../../support/server.js';
import { until } from '../../support/until.js';
import { startAnotherServer } from '../another-server.js';
import { newQueue } from '../kit.js';
import { statements } from '../../store/statements.js';
import { cronsOf } from './harness.js';

/**
 * A trigger by hand that comes while a scheduler is about to fire the same schedule. The scheduler's statement has its
 * snapshot, and waits for a lock of this test before it looks at the schedule.
 */
const LOCK = 4712;
const database = await cloneDatabase();
const server = await startTestServer({ database, config: { mode: 'api' } });
const desk = cronsOf(server.a);
const clients: pg.Client[] = [];
afterAll(async () => {
  for (const client of clients) await client.end();
  await server.stop();
  await database.drop();
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.homeOf(TENANT_A).url, application_name: 'test kit' });
  await client.connect();
  clients.push(client);
  return client;
}

/** A statement that takes its snapshot, and then waits. */
function held(name: string): { text: string; parameters: readonly string[] } {
  const { text, parameters } = statements().find((each) => each.name === name)!;
  const gate = `FROM (SELECT pg_advisory_xact_lock(${LOCK}) OFFSET 0) AS gate, unnest(`;
  expect(text).toContain('FROM unnest(');
  return { text: text.replace('FROM unnest(', gate), parameters };
}

const WORKFLOW = { name: 'books', steps: [{ name: 'load', task_name: 'load_books', queue: 'nobody' }] };

describe.each([
  ['a job', 'fire_crons', { task_name: 'echo', queue: newQueue() }],
  ['a workflow', 'take_starts', { task_name: undefined, workflow: WORKFLOW }],
] as const)('a schedule with overlap skip that starts %s', (_what, statement, fields) => {
  it('does not fire beside a trigger that came while it was about to', async () => {
    const id = await desk.put(`raced-${statement}`, { cron_expr: '@daily', overlap: 'skip', ...fields });
    const due = await database.query<{ at: number; revision: string }>(
      `UPDATE millrace.crons SET next_run_at = date_trunc('second', now()) WHERE id = $1
       RETURNING extract(epoch FROM next_run_at)::float8 * 1000 AS at, revision::text`,
      [id],
    );
    const { at, revision } = due[0]!;
    const values: Record<string, unknown> = {
      ...{ tenants: [TENANT_A], ids: [id], occurrences_ms: [at], followings_ms: [at + 86_400_000], kinds: ['on_time'] },
      ...{ suffixes: ['8000000000000001'], revisions: [revision], slots: 1_000 },
      ...{ planned_at_ms: Date.now(), valid_ms: 3_600_000 },
    };
    const [lock, scheduler] = [await connect(), await connect()];
    await lock.query(`SELECT pg_advisory_lock(${LOCK})`);
    const { text, parameters } = held(statement);
    const firing = scheduler.query(
      text,
      parameters.map((name) => values[name]),
    );
    await lockWaits(database, { by: 'test kit' });
    await desk.trigger(id);
    await lock.query(`SELECT pg_advisory_unlock(${LOCK})`);
    expect((await firing).rows).toEqual([]);
    // The next look sees what was triggered.
    const other = await startAnotherServer(database, { mode: 'worker', workers: 1 });
    await until(async () => (await desk.firings(id)).length > 1, { what: 'the occurrence to be recorded' });
    await other.stop();
    expect((await desk.firings(id)).map(({ kind }) => kind).reverse()).toEqual(['triggered', 'skipped']);
  });
});
