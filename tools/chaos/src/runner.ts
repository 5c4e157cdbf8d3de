import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onExit, PATIENCE_MS, Random } from '@millrace/tools-shared';
import { copyBuild } from './build-copy.js';
import type { Fault, Outcome } from './fault.js';
import { halfBatches } from './oracle/batches.js';
import { doctor } from './oracle/doctor.js';
import type { JobRecord } from './oracle/model.js';
import { judge } from './oracle/oracle.js';
import { Cluster } from './stage/cluster.js';
import { watchContention } from './stage/contention.js';
import { Stage } from './stage/stage.js';
import { runConcurrently } from './support/concurrency.js';

export interface RunOptions {
  readonly seed: number;
  /** A multiple of the full counts; null for the everyday counts. */
  readonly scale: number | null;
  /** The command line under test; by default a copy of the current build. */
  readonly millrace?: string;
  /** Whether to leave the directories of failed rows for inspection. */
  readonly keepFailures?: boolean;
  onOutcome?(outcome: Outcome): void;
}

/** How many rows run at the same time: most of them mostly wait. */
const CONCURRENT_ROWS = 6;
/** Only ends a hang: machines of CI are held up for half a minute at a time. */
const EVERYDAY_LIMIT_MS = 600_000;

/** Runs rows on one PostgreSQL that is removed at the end. */
export async function runFaults(faults: readonly Fault[], options: RunOptions): Promise<readonly Outcome[]> {
  const home = mkdtempSync(join(tmpdir(), 'millrace-chaos-'));
  const forget = onExit(() => rmSync(home, { recursive: true, force: true }));
  let shared: Promise<Cluster> | null = null;
  const sharedCluster = (): Promise<Cluster> => (shared ??= Cluster.create(join(home, 'shared')));
  const sound = copyBuild(join(home, 'build'));
  const millrace = options.millrace ?? sound;
  const endWatch = watchContention();
  const outcomes: Outcome[] = [];
  const runOne = async (fault: Fault): Promise<void> => {
    const outcome = await runFault(fault, options, { home, sharedCluster, sound, millrace });
    outcomes.push(outcome);
    options.onOutcome?.(outcome);
  };
  try {
    for (const fault of faults.filter(({ alone }) => alone)) await runOne(fault);
    const rest = faults.filter(({ alone }) => !alone);
    await runConcurrently(rest.length, CONCURRENT_ROWS, (index) => runOne(rest[index]!));
  } finally {
    endWatch();
    if (shared !== null) await (await (shared as Promise<Cluster>)).dispose();
    forget();
    const held = outcomes.every(({ violations }) => violations.length === 0);
    if (held || options.keepFailures === false) rmSync(home, { recursive: true, force: true });
  }
  return outcomes.sort((a, b) => a.row - b.row);
}

interface Surroundings {
  readonly home: string;
  readonly millrace: string;
  /** The build with nothing broken, for the doctor. */
  readonly sound: string;
  readonly sharedCluster: () => Promise<Cluster>;
}

async function runFault(
  fault: Fault,
  options: RunOptions,
  { home, sharedCluster, sound, millrace }: Surroundings,
): Promise<Outcome> {
  const count = options.scale === null ? fault.everyday : Math.max(1, Math.round(fault.full * options.scale));
  const common = { row: fault.row, name: fault.name, unit: fault.unit, count };
  const notRun = (await fault.unavailable?.()) ?? null;
  if (notRun !== null) return { ...common, count: 0, jobs: 0, seconds: 0, violations: [], notes: [], notRun };
  const startedAt = performance.now();
  const dir = join(home, `row-${fault.row}`);
  const stage = new Stage({ dir, millrace, sharedCluster, random: new Random(options.seed).fork(fault.name) });
  let jobs = 0;
  const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      stage.violation(`${what}: ${(error as Error).stack ?? String(error)}`);
    }
  };
  await attempt('the row did not run to its end', () =>
    endsWithin(fault.run(stage, count), options.scale === null ? EVERYDAY_LIMIT_MS : null),
  );
  // Even if the row broke off: what its clients were told often says why.
  await attempt('what the row left could not be examined', async () => {
    jobs = await examine(stage, sound);
  });
  await stage.dispose();
  const seconds = (performance.now() - startedAt) / 1_000;
  const left = stage.violations.length === 0 ? [] : [`logs and journals are in ${dir}`];
  return { ...common, jobs, seconds, violations: [...stage.violations, ...left], notes: stage.notes, notRun: null };
}

/** A row that hangs has failed too. The full run has no limit. */
async function endsWithin(run: Promise<void>, limitMs: number | null): Promise<void> {
  if (limitMs === null) return run;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not end within ${limitMs / 1_000} s`)), limitMs);
  });
  // What is left of the row fails because its processes are gone; nobody is waiting for it any more.
  run.catch(() => undefined);
  await Promise.race([run, late]).finally(() => clearTimeout(timer));
}

/** What the doctor finds once the sweep has come, which is late where the machine is held up. */
async function swept(sound: string, url: string): Promise<readonly string[]> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const findings = await doctor(sound, url);
    const isOverdue = findings.some((finding) => finding.startsWith('doctor: no lease is long overdue'));
    if (!isOverdue || performance.now() > end) return findings;
  }
}

/** Checks what must hold after any fault. Resolves to the number of jobs. */
async function examine(stage: Stage, sound: string): Promise<number> {
  // The doctor goes first, while the servers still run: with all of them stopped, leases would become overdue.
  for (const { url } of stage.databases) for (const finding of await swept(sound, url)) stage.violation(finding);
  for (const database of stage.databases) for (const finding of await halfBatches(database)) stage.violation(finding);
  await stage.stopProcesses();
  const records = new Map<string, JobRecord>();
  for (const database of stage.databases) for (const [id, record] of await database.records()) records.set(id, record);
  const { history, poolQueues } = stage;
  for (const finding of judge({ history, records, poolQueues })) stage.violation(finding);
  return records.size;
}
