import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { createEngine, type EngineParts } from '../../../src/engine/engine.js';
import type { EngineMetrics } from '../../../src/engine/shared/counters.js';
import type { LeasedJob } from '../../../src/domain/records.js';
import type { StepSpec } from '../../../src/domain/workflow-records.js';
import { Database, type Execute } from '../../../src/store/connection/database.js';
import type { TenantRead } from '../../../src/store/lists/list-statements.js';
import { createLogger } from '../../../src/telemetry/logger.js';
import { separateSlots } from '../../../src/engine/leases/slots.js';
import { oneDatabase } from '../../support/database.js';
import { connectionOf } from '../../support/pooled.js';

/**
 * How many statements outcomes take, and how much comes back: what must not grow with the square of a workflow's size.
 */
describe('the cost of outcomes', async () => {
  const database = await oneDatabase();
  const db = new Database({
    ...connectionOf(database.url),
    maxConnections: 4,
    logger: createLogger({ level: 'silent', format: 'json' }),
  });
  afterAll(async () => {
    await db.close();
    await database.drop();
  });

  let log: { name: string; rows: number; characters: number }[] = [];
  const logged =
    (run: Execute): Execute =>
    async (statement) => {
      const rows = await run(statement);
      // That somebody asked for jobs is noted now and then, whatever the outcomes are.
      if (statement.name !== 'note_queues')
        log.push({ name: statement.name, rows: rows.length, characters: JSON.stringify(rows).length });
      return rows as never;
    };
  const watched = {
    run: logged(db.run),
    read: (query: TenantRead) => logged(() => db.read(query))(query.statement),
    transaction: <T>(body: (run: Execute) => Promise<T>) => db.transaction((run) => body(logged(run))),
  } as unknown as Database;
  const silent = new Proxy({}, { get: () => () => undefined }) as EngineMetrics;

  /** A process of its own, that knows nothing of what others read before. */
  const engine = (): EngineParts =>
    createEngine({
      db: watched,
      metrics: silent,
      tasks: [],
      defaultQueue: 'default',
      maxPayloadBytes: 4 * 1024 * 1024,
      retentionHours: null,
      ready: async () => true,
    });
  const first = engine();

  const spec = (name: string, dependsOn: readonly string[] = []): StepSpec => ({
    ...{ name, dependsOn, task: 't', queue: null, payload: '{}', config: '{}', jobConfig: null, onFailure: 'halt' },
    metadata: null,
  });
  const create = async (steps: readonly StepSpec[]): Promise<string> =>
    (await first.api.workflows.create('t', { name: 'w', steps, context: '{}', metadata: null }, null)).id;
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `n${n}`);

  async function claimAll(): Promise<LeasedJob[]> {
    const all: LeasedJob[] = [];
    for (;;) {
      const slots = Array.from({ length: 500 }, () => ({ token: randomUUID(), leaseSecs: 3_600, workerId: null }));
      const { jobs: claimed } = await first.claimer.claim('default', separateSlots(slots));
      all.push(...claimed);
      if (claimed.length < 500) return all;
    }
  }

  async function complete(by: EngineParts, jobs: readonly LeasedJob[], result = '{"n":1}'): Promise<void> {
    const done = jobs.map(({ job, leaseToken: token }) => by.settler.complete({ id: job.id, token, result }));
    expect((await Promise.all(done)).every(Boolean)).toBe(true);
  }

  const counted = async (body: () => Promise<void>): Promise<typeof log> => {
    log = [];
    await body();
    return log;
  };

  it.each([10, 100, 400])('is the same number of statements for %d outcomes of one workflow', async (count) => {
    await create([...names(count).map((name) => spec(name)), spec('join', names(count))]);
    const jobs = await claimAll();
    const most = await counted(() => complete(first, jobs.slice(1)));
    expect(most.map(({ name, rows }) => [name, rows])).toEqual([
      ['lock_runs_of_leases', 1],
      ['settle', count - 1],
      ['advance_runs', 1],
    ]);
    const last = await counted(() => complete(first, jobs.slice(0, 1)));
    expect(last.map(({ name, rows }) => [name, rows])).toEqual([
      ['lock_runs_of_leases', 1],
      ['settle', 1],
      ['results_of_steps', count - 1],
      ['advance_runs', 1],
    ]);
    await complete(first, await claimAll());
  });

  it('is the same number of statements for the outcomes of many workflows, also for a process that has seen none of them', async () => {
    for (let n = 0; n < 50; n++) await create([...names(4).map((name) => spec(name)), spec('join', names(4))]);
    const jobs = await claimAll();
    await complete(first, jobs.slice(0, 150));
    const seen = await counted(() => complete(engine(), jobs.slice(150)));
    expect(seen.map(({ name }) => name)).toEqual([
      'lock_runs_of_leases',
      'definitions_of',
      'settle',
      'results_of_steps',
      'advance_runs',
    ]);
    const joins = await claimAll();
    expect(joins).toHaveLength(50);
    await complete(first, joins);
  });

  it('does not carry a long context along where nobody needs it', async () => {
    const workflow = await create([spec('big'), spec('after', ['big']), ...names(100).map((name) => spec(name))]);
    const jobs = await claimAll();
    const big = jobs.filter(({ job }) => job.workflow_step_id === 'big');
    const others = jobs.filter(({ job }) => job.workflow_step_id !== 'big');
    // Long and not to be compressed: what PostgreSQL keeps of it is as long.
    const text = Array.from({ length: 3000 }, () => randomUUID()).join('');
    await complete(first, big, `{"text":"${text}"}`);
    const after = await claimAll();
    expect(after.map(({ job }) => job.payload.length > text.length)).toEqual([true]);
    const oneByOne = await counted(async () => {
      for (const job of others) await complete(first, [job]);
    });
    expect(oneByOne.filter(({ name }) => name === 'contexts_of')).toEqual([]);
    expect(oneByOne.reduce((sum, { characters }) => sum + characters, 0)).toBeLessThan(text.length);
    const end = await counted(() => complete(first, after, '{"end":true}'));
    expect(end.map(({ name }) => name)).toContain('contexts_of');
    const { status, context } = await first.api.workflows.get('t', workflow);
    expect(status).toBe('completed');
    expect(JSON.parse(context)).toMatchObject({ text, big: { text }, end: true, n99: { n: 1 } });
  });

  it('reads a page of unmerged contexts with as many statements as one', async () => {
    await Promise.all(names(30).map(() => create([spec('x'), spec('y')])));
    const jobs = await claimAll();
    await complete(
      first,
      jobs.filter(({ job }) => job.workflow_step_id === 'x'),
    );
    const shown = { limit: 30, offset: 0, ascending: false, includeTotal: false, cursor: null };
    const query = { ...shown, status: null, name: null };
    const page = await counted(async () => {
      const { items } = await engine().api.workflows.list('t', { ...query, createdAfter: null, createdBefore: null });
      expect(items.map((item) => JSON.parse(item.context))).toEqual(items.map(() => ({ n: 1, x: { n: 1 } })));
    });
    expect(page.map(({ name }) => name)).toEqual(['list_workflows', 'results_of_steps']);
  });
});
