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
  textArray,
  uuidArray,
} from '@millrace/server/testing';
import pg from 'pg';
import { PAYLOAD_TEXT, RESULT_TEXT, TASK, TENANT } from '../work.js';

const { create_alike, register_tenant } = loadStatements('enqueue.sql', ['create_alike', 'register_tenant']);
const { claim } = loadStatements('lease.sql', ['claim']);
const { settle_bundled, settle_completed } = loadStatements('settle.sql', ['settle_bundled', 'settle_completed']);

const LEASE_SECS = 300;

/** Parameters of an insert. It may run any number of times: the ids differ by the time of the statement. */
export interface PreparedInsert {
  readonly values: readonly unknown[];
  idsAt(prefix: string): string[];
}

/** Parameters of a claim that will return exactly these jobs, and of the statement that settles them. */
export interface PreparedClaim {
  readonly jobs: number;
  readonly claim: readonly unknown[];
  readonly statement: { readonly name: string; readonly text: string };
  readonly settle: readonly unknown[];
  /** Whether the statement has settled all of them. */
  isDone(rows: readonly Record<string, string>[]): boolean;
}

/** One connection that runs the service's own statements, with the service's settings, and nothing else. */
export class RawSession {
  private constructor(private readonly client: pg.Client) {}

  static async open(url: string): Promise<RawSession> {
    const client = new pg.Client({ connectionString: url, options: await hotOptions(url) });
    await client.connect();
    await client.query(register_tenant.text, [TENANT, bucketOf(TENANT)]);
    return new RawSession(client);
  }

  /** The prefix that the ids share. */
  async insert(prepared: PreparedInsert): Promise<string> {
    const { rows } = await this.client.query<{ prefix: string }>({ ...create_alike, values: [...prepared.values] });
    return rows[0]?.prefix ?? '';
  }

  async claimAndSettle(prepared: PreparedClaim): Promise<void> {
    await this.client.query({ ...claim, values: [...prepared.claim] });
    const { rows } = await this.client.query<Record<string, string>>({
      ...prepared.statement,
      values: [...prepared.settle],
    });
    if (!prepared.isDone(rows)) throw new Error(`a claim returned other jobs than the ${prepared.jobs} expected`);
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
    values: [
      ...[TENANT, queue, TASK, 0, null],
      textArray(suffixes),
      jsonArray(Array<string>(jobs).fill(PAYLOAD_TEXT)),
      // Only large jobs have a size.
      int4Array([]),
    ],
    idsAt: (prefix) => suffixes.map(idsWith(prefix)),
  };
}

export function prepareClaim(queue: string, ids: readonly string[]): PreparedClaim {
  const all = <T>(value: T): T[] => ids.map(() => value);
  const bundle = randomUUID();
  return {
    jobs: ids.length,
    claim: [
      queue,
      int4Array([0]),
      plainArray([createdAtOf(ids[0] ?? '')]),
      uuidArray(ids.map(() => randomUUID())),
      int4Array(all(LEASE_SECS)),
      bundle,
      ids.length,
      CLAIM_BYTES,
      '-infinity',
      ids.length,
      textArray(['raw']),
      null,
    ],
    statement: settle_bundled,
    isDone: ([row]) => row?.taken?.lastIndexOf('1') === ids.length - 1,
    settle: [
      uuidArray([bundle]),
      textArray([TENANT]),
      textArray(['1'.repeat(ids.length)]),
      boolArray([true]),
      int4Array(all(1)),
      int4Array(ids.map((_, index) => index + 1)),
      jsonArray(all(RESULT_TEXT)),
      // No other bundles and no marks of claims: every job may be started at once.
      uuidArray([]),
      uuidArray([]),
      int4Array([]),
      uuidArray([]),
    ],
  };
}

/** The same under leases of their own, as remote workers have them. */
export function prepareLease(queue: string, ids: readonly string[]): PreparedClaim {
  const tokens = ids.map(() => randomUUID());
  return {
    jobs: ids.length,
    claim: [
      queue,
      int4Array([0]),
      plainArray([createdAtOf(ids[0] ?? '')]),
      uuidArray(tokens),
      int4Array(ids.map(() => LEASE_SECS)),
      null,
      ids.length,
      CLAIM_BYTES,
      '-infinity',
      0,
      null,
      null,
    ],
    statement: settle_completed,
    isDone: ([row]) => row?.numbers?.split(',').length === ids.length,
    settle: [uuidArray(ids), uuidArray(tokens), jsonArray(ids.map(() => RESULT_TEXT))],
  };
}

/** More than any claim here brings. */
const CLAIM_BYTES = 32 * 1024 * 1024;

/** The settings of the service's own connections, read from one of them so that they always agree. */
async function hotOptions(url: string): Promise<string> {
  const logger = createLogger({ level: 'warn', format: 'json' });
  const db = new Database({ url, maxConnections: 3, logger });
  const settings = await db.run<{ name: string; setting: string }>({
    name: 'settings_of_client',
    text: `SELECT name, setting FROM pg_settings WHERE source = 'client' AND name <> 'statement_timeout'`,
  });
  await db.close();
  return settings.map(({ name, setting }) => `-c ${name}=${setting.replaceAll(' ', '\\ ')}`).join(' ');
}
