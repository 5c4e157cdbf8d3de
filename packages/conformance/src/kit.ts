import type { Group, Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios/index.js';
import { startBeaconReceiver } from './stage/beacons.js';
import { connectService } from './stage/service.js';
import { Stage, type Evidence, type Setting } from './stage/stage.js';
import { until, Violation } from './stage/violation.js';
import { StallWatch } from './stall-watch.js';

export interface KitOptions {
  /** The program and its arguments; started anew for every scenario. */
  readonly command: readonly string[];
  /** A server in `--dev` mode whose own pool does not run (`--mode api`). */
  readonly serverUrl: string;
  /** Numbers of the scenarios to run; all of them if omitted. */
  readonly only?: readonly number[];
  /** Numbers of scenarios to leave out. */
  readonly skip?: readonly number[];
  /** Groups of scenarios that the worker declines. */
  readonly without?: readonly Group[];
  /** C: `MILLRACE_CONCURRENCY` of the worker. */
  readonly concurrency?: number;
  /** L: `MILLRACE_LEASE_SECS` of the worker. */
  readonly leaseSecs?: number;
  /** Hides the routes that came after the plain protocol, as an older server would. */
  readonly plain?: boolean;
  /** How many scenarios run side by side. */
  readonly sideBySide?: number;
  /** Called when a scenario has ended, in the order in which they end. */
  readonly onResult?: (result: ScenarioResult) => void;
}

export interface ScenarioResult {
  readonly number: number;
  readonly title: string;
  readonly passes: string;
  readonly passed: boolean;
  /** What was seen instead, if it did not pass. */
  readonly problem: string | null;
  readonly seconds: number;
  /** Why it was run again, if it was. */
  readonly repeated: string | null;
  /** The end of what the worker printed. */
  readonly output: string;
}

export const DEFAULTS = { concurrency: 4, leaseSecs: 2, sideBySide: 6, plain: false } as const;

/** A stall of the machine that can make a good worker look bad; the margins of the table are about 200 ms. */
const STALL_MS = 80;
/** For so long scenarios are run again and again on a machine that stalls. */
const STALLING_MS = 180_000;
const OUTPUT_SHOWN = 2_000;

/**
 * Runs the scenarios and resolves to their results, by number. A scenario that fails while the machine stalls is run
 * again, by itself, until the machine does not.
 *
 * @example
 * const results = await runKit({ command: ['python3', 'worker.py'], serverUrl: 'http://localhost:8000' });
 * process.exitCode = results.every(({ passed }) => passed) ? 0 : 1;
 */
export async function runKit(options: KitOptions): Promise<ScenarioResult[]> {
  const { concurrency, leaseSecs, sideBySide, plain } = { ...DEFAULTS, ...options };
  const beacons = await startBeaconReceiver();
  const stalls = new StallWatch();
  const { command, serverUrl } = options;
  const setting = { command, serverUrl, service: connectService(serverUrl), beacons, concurrency, leaseSecs, plain };
  const evidence: Evidence[] = [];
  const results: ScenarioResult[] = [];
  const note = (result: ScenarioResult): void => {
    results.push(result);
    options.onResult?.(result);
  };
  try {
    await expectStart(setting);
    const chosen = choose(options);
    const again: { scenario: Runnable; stallMs: number }[] = [];
    await inParallel(sideBySide, longestFirst(chosen.filter(isRunnable)), async (scenario) => {
      const longestStall = stalls.open();
      const result = await runOne(scenario, setting, evidence, null);
      const stallMs = longestStall();
      if (!result.passed && stallMs > STALL_MS) again.push({ scenario, stallMs });
      else note(result);
    });
    const end = performance.now() + STALLING_MS;
    for (const { scenario, stallMs } of again) {
      note(await runAgain(scenario, setting, evidence, { stalls, stallMs, end }));
    }
    for (const scenario of chosen.filter((each) => !isRunnable(each))) note(judgeOne(scenario, evidence));
  } finally {
    stalls.close();
    await beacons.close();
  }
  return results.sort((one, other) => one.number - other.number);
}

/** A command that does not work at all is told from one that fails every scenario. */
export class WorkerDidNotStart extends Error {}

/** Only ends a hang: on a machine that is held up, a program may take a minute to start. */
const START_MS = 180_000;

async function expectStart(setting: Setting): Promise<void> {
  const stage = await Stage.open(setting);
  try {
    const worker = stage.startWorker();
    await until('the worker asks for jobs', () => stage.proxy.leases().length > 0 || worker.end() !== null, START_MS);
    const end = worker.end();
    if (stage.proxy.leases().length > 0 || end === null) return;
    const output = stage.evidence().output.slice(-OUTPUT_SHOWN);
    throw new WorkerDidNotStart(`the worker ended with code ${String(end.code)} before it asked for jobs\n${output}`);
  } finally {
    await stage.close();
  }
}

type Runnable = Extract<Scenario, { run: unknown }>;
type Judged = Exclude<Scenario, Runnable>;
const isRunnable = (scenario: Scenario): scenario is Runnable => 'run' in scenario;

/** A server of the plain protocol knows none of the groups. */
const choose = ({ only, skip = [], without = [], plain = false }: KitOptions): Scenario[] =>
  SCENARIOS.filter(
    ({ number, group }) =>
      (only === undefined || only.includes(number)) &&
      !skip.includes(number) &&
      (group === undefined || !(plain || without.includes(group))),
  );

const longestFirst = (scenarios: readonly Runnable[]): Runnable[] =>
  [...scenarios].sort((one, other) => other.seconds - one.seconds);

async function inParallel<T>(lanes: number, items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const waiting = [...items];
  const lane = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

async function runOne(
  scenario: Runnable,
  setting: Setting,
  evidence: Evidence[],
  repeated: string | null,
): Promise<ScenarioResult> {
  const started = performance.now();
  const stage = await Stage.open(setting);
  try {
    const problem = await problemOf(() => scenario.run(stage));
    const seen = stage.evidence();
    evidence.push(seen);
    return resultOf(scenario, problem, started, repeated, seen.output);
  } finally {
    await stage.close();
  }
}

interface Stalled {
  readonly stalls: StallWatch;
  /** The longest stall of the try before. */
  readonly stallMs: number;
  /** When the last try begins, whatever the machine does. */
  readonly end: number;
}

/** What a stall disturbs again is no measurement either. */
async function runAgain(
  scenario: Runnable,
  setting: Setting,
  evidence: Evidence[],
  { stalls, stallMs, end }: Stalled,
): Promise<ScenarioResult> {
  const longestStall = stalls.open();
  const result = await runOne(scenario, setting, evidence, `the machine stalled for ${stallMs.toFixed(0)} ms`);
  const next = longestStall();
  if (result.passed || next <= STALL_MS || performance.now() > end) return result;
  return runAgain(scenario, setting, evidence, { stalls, stallMs: next, end });
}

function judgeOne(scenario: Scenario, evidence: readonly Evidence[]): ScenarioResult {
  const started = performance.now();
  let problem: string | null = null;
  try {
    (scenario as Judged).judge(evidence);
  } catch (error) {
    problem = problemIn(error);
  }
  return resultOf(scenario, problem, started, null, '');
}

async function problemOf(run: () => Promise<void>): Promise<string | null> {
  try {
    await run();
    return null;
  } catch (error) {
    return problemIn(error);
  }
}

function problemIn(error: unknown): string {
  if (error instanceof Violation) return error.message;
  return `the kit could not go on: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}

function resultOf(
  { number, title, passes }: Scenario,
  problem: string | null,
  startedAt: number,
  repeated: string | null,
  output: string,
): ScenarioResult {
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  const passed = problem === null;
  return { number, title, passes, passed, problem, seconds, repeated, output: output.slice(-OUTPUT_SHOWN) };
}
