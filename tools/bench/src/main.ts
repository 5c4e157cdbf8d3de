import { exitOnSignals, runMain, say } from '@millrace/tools-shared';
import { scoped, type Bench } from './bench.js';
import { CASES, roundsOf } from './cases/index.js';
import type { CaseName } from './cases/names.js';
import { loadNow, machineFacts } from './env/machine.js';
import { Postgres } from './env/postgres.js';
import { startRedis } from './env/redis.js';
import { buildRiver } from './env/river.js';
import { parseOptions, type Options } from './options.js';
import { judge } from './report/bars.js';
import { toJson, writeResults, type Run } from './report/publish.js';
import { plainText, tables } from './report/text.js';
import { Results } from './results.js';

/** Whether a case has failed. */
let failed = false;

async function run(options: Options): Promise<Run> {
  const startedAt = performance.now();
  const loadBefore = loadNow();
  const results = new Results();
  const hasPeers = options.cases.includes('throughput');
  const river = hasPeers ? orNote(results, await buildRiver(say)) : null;
  const redis = hasPeers ? orNote(results, await startRedis(say)) : null;
  const postgres = await Postgres.start();
  try {
    const bench: Bench = { postgres, redis, river, scale: options.scale, results };
    for (const name of options.cases) await runCase(bench, name);
    return {
      machine: machineFacts(postgres.version, redis?.version ?? null, river?.version ?? null, loadBefore),
      postgresSettings: postgres.settings,
      scale: options.scale,
      cases: options.cases,
      results,
      judged: judge(results),
      seconds: Math.round((performance.now() - startedAt) / 1000),
    };
  } finally {
    await postgres.stop();
    await redis?.stop();
  }
}

/** A peer that is not to be had is left out, and the results say why. */
function orNote<T extends object>(results: Results, peer: T | string): T | null {
  if (typeof peer !== 'string') return peer;
  results.note(peer);
  return null;
}

/** A case that fails must not discard the results of the others: it is noted, and the run exits with 1. */
async function runCase(bench: Bench, name: CaseName): Promise<void> {
  const startedAt = performance.now();
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(1);
  try {
    await scoped(bench, async (scope) => {
      const prepared = await CASES[name](bench);
      scope.onClose(async () => prepared.close?.());
      const rounds = roundsOf(name, bench.scale);
      for (let round = 1; round <= rounds; round++) {
        await prepared.round();
        say(`${name}: round ${round} of ${rounds}, ${seconds()} s`);
      }
    });
  } catch (error) {
    failed = true;
    const message = error instanceof Error ? error.message : String(error);
    bench.results.note(`${name} failed: ${message.split('\n')[0] ?? ''}`);
    say(`${name} failed after ${seconds()} s: ${error instanceof Error ? (error.stack ?? message) : message}`);
  }
}

function show({ results, judged, scale, seconds }: Run): void {
  const print = (text: string): void => void process.stdout.write(`${text}\n`);
  for (const table of tables(results, judged, scale)) print(plainText(table));
  for (const note of results.notes) print(`note: ${note}`);
  const passed = judged.filter((bar) => bar.passed).length;
  print(`${passed} of ${judged.length} bars passed, ${seconds} s`);
}

async function main(): Promise<number> {
  exitOnSignals();
  const options = parseOptions(process.argv.slice(2));
  const done = await run(options);
  if (options.json) process.stdout.write(toJson(done));
  else show(done);
  for (const file of writeResults(done, options.publish)) say(`written: ${file}`);
  return failed ? 1 : 0;
}

process.exitCode = await runMain(main);
