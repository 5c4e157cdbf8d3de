import { randomBytes, randomUUID } from 'node:crypto';
import { createLogger } from '@millrace/server';
import {
  boolArray,
  bucketOf,
  createdAtOf,
  Database,
  idSuffix,
  idsWith,
  int4Array,
  jsonArray,
  loadStatements,
  plainArray,
  type Statement,
  textArray,
  uuidArray,
} from '@millrace/server/testing';
import pg from 'pg';
import { PAYLOAD_TEXT, RESULT_TEXT, TASK, TENANT } from '../work.js';

const { create_alike } = loadStatements('jobs/enqueue.sql');
const { register_tenant } = loadStatements('shared/tenants.sql');
const { claim_for_pool, claim_for_workers } = loadStatements('leases/claim.sql');
const { settle_bundled, settle_completed } = loadStatements('outcomes/settle.sql');

const LEASE_SECS = 300;

/** An insert. It may run any number of times: the ids differ by the time of the statement. */
export interface PreparedInsert {
  readonly statement: Statement;
  idsAt(prefix: string): string[];
}

/** A claim that will return exactly these jobs, and the statement that settles them. */
export interface PreparedClaim {
  readonly jobs: number;
  readonly claim: Statement;
  readonly settle: Statement;
  /** Whether the statement has settled all of them. */
  isDone(rows: readonly Record<string, string>[]): boolean;
}

/** One connection that runs the service's own statements, with the service's settings, and nothing else. */
export class RawSession {
  private constructor(private readonly client: pg.Client) {}

  static async open(url: string): Promise<RawSession> {
    const client = new pg.Client({ connectionString: url, options: await hotOptions(url) });
    await client.connect();
    const session = new RawSession(client);
    await session.#run(register_tenant({ tenant: TENANT, bucket: bucketOf(TENANT) }));
    return session;
  }

  /** The prefix that the ids share. */
  async insert(prepared: PreparedInsert): Promise<string> {
    const [row] = await this.#run(prepared.statement);
    return row?.prefix ?? '';
  }

  async claimAndSettle(prepared: PreparedClaim): Promise<void> {
    await this.#run(prepared.claim);
    const rows = await this.#run(prepared.settle);
    if (!prepared.isDone(rows)) throw new Error(`a claim returned other jobs than the ${prepared.jobs} expected`);
  }

  async #run({ name, text, values }: Statement): Promise<Record<string, string>[]> {
    return (await this.client.query<Record<string, string>>({ name, text, values: [...values] })).rows;
  }

  close(): Promise<void> {
    return this.client.end();
  }
}

export function prepareInsert(queue: string, jobs: number): PreparedInsert {
  const bucket = bucketOf(TENANT);
  const suffixes = Array.from({ length: jobs }, (_, position) =>
    idSuffix(position, bucket, randomBytes(4).toString('hex')),
  );
  return {
    statement: create_alike({
      tenant: TENANT,
      queue,
      task: TASK,
      priority: 0,
      config: null,
      suffixes: textArray(suffixes),
      payloads: jsonArray(Array<string>(jobs).fill(PAYLOAD_TEXT)),
      // Only large jobs have a size.
      sizes: int4Array([]),
    }),
    idsAt: (prefix) => suffixes.map(idsWith(prefix)),
  };
}

export function prepareClaim(queue: string, ids: readonly string[]): PreparedClaim {
  const all = <T>(value: T): T[] => ids.map(() => value);
  const bundle = randomUUID();
  return {
    jobs: ids.length,
    claim: claim_for_pool({
      ...fromTheFirstOf(queue, ids),
      bundle,
      secs: LEASE_SECS,
      startable: ids.length,
      worker: 'raw',
      gate_held: false,
      bundle_from: 4,
    }),
    isDone: ([row]) => row?.taken?.lastIndexOf('1') === ids.length - 1,
    settle: settle_bundled({
      bundle_tokens: uuidArray([bundle]),
      bundle_tenants: textArray([TENANT]),
      masks: textArray(['1'.repeat(ids.length)]),
      are_last: boolArray([true]),
      member_bundles: int4Array(all(1)),
      member_positions: int4Array(ids.map((_, index) => index + 1)),
      member_results: jsonArray(all(RESULT_TEXT)),
      // No other bundles and no marks of claims: every job may be started at once.
      emptied_tokens: uuidArray([]),
      mark_tokens: uuidArray([]),
      mark_reaches: int4Array([]),
      dropped_marks: uuidArray([]),
    }),
  };
}

/** The same under leases of their own, as remote workers have them. */
export function prepareLease(queue: string, ids: readonly string[]): PreparedClaim {
  const tokens = ids.map(() => randomUUID());
  return {
    jobs: ids.length,
    claim: claim_for_workers({
      ...fromTheFirstOf(queue, ids),
      tokens: uuidArray(tokens),
      secs: int4Array(ids.map(() => LEASE_SECS)),
      workers: null,
      gate_held: false,
    }),
    isDone: ([row]) => row?.numbers?.split(',').length === ids.length,
    settle: settle_completed({
      ids: uuidArray(ids),
      tokens: uuidArray(tokens),
      results: jsonArray(ids.map(() => RESULT_TEXT)),
    }),
  };
}

/** Starts where the first of the jobs stands, of the only priority there is. */
const fromTheFirstOf = (queue: string, ids: readonly string[]) => ({
  queue,
  floor_priorities: int4Array([0]),
  floor_instants: plainArray([createdAtOf(ids[0] ?? '')]),
  later_floor: '-infinity',
  max_jobs: ids.length,
  max_bytes: CLAIM_BYTES,
  known_contexts: null,
});

/** More than any claim here brings. */
const CLAIM_BYTES = 32 * 1024 * 1024;

/** The settings of the service's own connections, read from one of them so that they always agree. */
async function hotOptions(url: string): Promise<string> {
  const logger = createLogger({ level: 'warn', format: 'json' });
  const db = new Database({ url, maxConnections: 3, logger });
  const settings = await db.run<{ name: string; setting: string }>({
    name: 'settings_of_client',
    text: `SELECT name, setting FROM pg_settings WHERE source = 'client' AND name <> 'statement_timeout'`,
    values: [],
  });
  await db.close();
  return settings.map(({ name, setting }) => `-c ${name}=${setting.replaceAll(' ', '\\ ')}`).join(' ');
}
