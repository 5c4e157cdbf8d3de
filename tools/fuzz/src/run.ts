import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '@millrace/tools-shared';
import { runCampaign, type Tally } from './campaign.js';
import { MemoryWatch, type MemoryReading } from './memory-watch.js';
import { validJwt } from './mutations/auth.js';
import { operationsOf, type Document } from './openapi.js';
import type { Violation } from './oracle.js';
import { SchemaChecker } from './schema.js';
import { dawdle, slowClients } from './slow.js';
import { examine, startTarget, type Target } from './target.js';
import { Memory, type Callers, type Tenant } from './tenants.js';
import type { World } from './valid.js';

export interface RunOptions {
  readonly seed: number;
  readonly from: number;
  readonly count: number;
  /** Whether to wait for the server to cut off slow clients, which takes minutes. */
  readonly slow: boolean;
  /** By default an embedded PostgreSQL in a temporary directory. */
  readonly databaseUrl?: string;
  readonly say: (line: string) => void;
  /** Ends the run early but in an orderly way. */
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly seed: number;
  readonly tally: Tally;
  /** Violations that do not belong to one request: the process, its memory, its log, its data. */
  readonly findings: readonly Violation[];
  readonly memory: MemoryReading | null;
  readonly slowClients: number;
  readonly seconds: number;
}

/** Small enough that exceeding it is cheap. */
const MAX_BODY_BYTES = 1024 * 1024;
export const CLIENTS = 8;
const PROBE_MS = 60_000;
const AGAIN_MS = 1_000;
const NO_ANSWER = { status: 'nothing' } as const;

export const run = (options: RunOptions): Promise<RunResult> =>
  withTarget(options, (target, callers, random, databaseUrl) =>
    attack(target, callers, random, { ...options, databaseUrl }),
  );

/** Starts a server of its own, and stops it whatever becomes of `use`. */
export async function withTarget<T>(
  { seed, databaseUrl: given }: Pick<RunOptions, 'seed' | 'databaseUrl'>,
  use: (target: Target, callers: Callers, random: Random, databaseUrl: string) => Promise<T>,
): Promise<T> {
  const dir = given === undefined ? await mkdtemp(join(tmpdir(), 'millrace-fuzz-')) : null;
  const databaseUrl = given ?? `embedded:${dir}`;
  const random = new Random(seed);
  const callers = makeCallers(random.fork('callers'));
  try {
    const target = await startTarget({ databaseUrl, callers, maxBodyBytes: MAX_BODY_BYTES });
    try {
      return await use(target, callers, random, databaseUrl);
    } finally {
      await target.stop();
    }
  } finally {
    if (dir !== null) await rm(dir, { recursive: true, force: true });
  }
}

/** Two tenants with API keys and one with a signed token. No tenant may ever see another's mark. */
function makeCallers(random: Random): Callers {
  const jwtSecret = `secret-${random.word(40)}`;
  const tenant = (name: string): Tenant => ({ name, token: `key-${random.word(32)}`, mark: `mark-${random.word(20)}` });
  const signed = tenant('tenant-c');
  return {
    tenants: [tenant('tenant-a'), tenant('tenant-b'), { ...signed, token: validJwt(jwtSecret, signed.name) }],
    workerToken: `worker-${random.word(32)}`,
    adminToken: `admin-${random.word(32)}`,
    jwtSecret,
  };
}

async function attack(
  target: Target,
  callers: Callers,
  random: Random,
  options: RunOptions & { readonly databaseUrl: string },
): Promise<RunResult> {
  const started = performance.now();
  const { signal = new AbortController().signal } = options;
  const world = await worldOf(target, callers);
  const slow = options.slow ? slowClients(callers.tenants[0]?.token ?? '') : [];
  const dawdlers = Promise.all(slow.map((client) => dawdle(target.port, client, signal)));
  const watch = new MemoryWatch(target, options.count);
  const tally = await runCampaign(world, {
    from: options.from,
    count: options.count,
    random,
    signal,
    clients: CLIENTS,
    port: target.port,
    onProgress: (sent) => {
      void watch.sample(sent);
      if (sent % 5000 === 0) options.say(`${sent} of ${options.count}`);
      return target.isAlive();
    },
  });
  const memory = watch.reading();
  if (slow.length > 0) options.say('waiting for the server to cut off the slow clients');
  const uncut = (await dawdlers).filter((violation) => violation !== null);
  const findings = [...uncut, ...(await afterwards(target, options.databaseUrl)), ...watch.findings()];
  const seconds = Math.round((performance.now() - started) / 1000);
  return { seed: options.seed, tally, findings, memory, slowClients: slow.length, seconds };
}

export async function worldOf({ apiUrl, port }: Target, callers: Callers): Promise<World> {
  const response = await fetch(new URL('/openapi.json', apiUrl));
  const document = (await response.json()) as Document;
  return {
    operations: operationsOf(document),
    checker: new SchemaChecker(document.components.schemas),
    callers,
    memory: new Memory(),
    host: `127.0.0.1:${port}`,
    maxBodyBytes: MAX_BODY_BYTES,
  };
}

/** Whether the database takes its time, which the machine may be to blame for, is said by 503: only for a while. */
async function statusOf(url: URL): Promise<number | 'nothing'> {
  const end = performance.now() + PROBE_MS;
  for (;;) {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(PROBE_MS) }).catch(() => NO_ANSWER);
    if (status !== 503 || performance.now() > end) return status;
    await sleep(AGAIN_MS);
  }
}

async function afterwards(target: Target, databaseUrl: string): Promise<Violation[]> {
  if (!target.isAlive()) return [{ rule: 'process', detail: 'the server is gone' }];
  const found: Violation[] = target.errors().map((line) => ({ rule: 'log', detail: line }));
  for (const path of ['/health', '/ready']) {
    const status = await statusOf(new URL(path, target.apiUrl));
    if (status !== 200) found.push({ rule: 'process', detail: `${path} answers ${status}` });
  }
  const diagnosis = await examine(databaseUrl);
  if (diagnosis !== null) found.push({ rule: 'doctor', detail: diagnosis });
  return found;
}
