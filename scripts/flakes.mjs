/**
 * `npm run flakes`: the suite again and again, on fewer cores, beside busy loops, in another order each time. Ends with
 * a table of every test that failed at least once.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { heldUp } from './lib/held-up.mjs';
import { root, wholeNumber } from './lib/tools.mjs';

const USAGE = `npm run flakes -- [flags] [-- arguments for vitest]

  --runs N     how often (default 4)
  --busy N     beside so many processes that never rest (default 0)
  --cores N    on so many cores, where the system has taskset (default all)
  --held-up N  with a sixteenth of a core for so many seconds of each minute, where control groups may be written
               (default 0)
  --full       npm run test:full instead of npm test
  --seed N     the seed of the first run; each run takes the next (default 1)

What each run printed is kept in .cache/flakes/.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    runs: { type: 'string', default: '4' },
    busy: { type: 'string', default: '0' },
    cores: { type: 'string', default: String(availableParallelism()) },
    'held-up': { type: 'string', default: '0' },
    full: { type: 'boolean', default: false },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const [runs, busy, cores, heldUpSecs, firstSeed] = ['runs', 'busy', 'cores', 'held-up', 'seed'].map((name) =>
  wholeNumber(name, values[name]),
);

const folder = join(root, '.cache', 'flakes');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const failures = [];
const seconds = [];
let stopped = false;
for (let run = 0; run < runs && !stopped; run++) {
  const seed = firstSeed + run;
  const outcome = await once(seed);
  seconds.push(outcome.seconds);
  failures.push(...outcome.failed.map((failed) => ({ ...failed, seed })));
  const word = outcome.code === 0 ? 'passed' : `FAILED (${outcome.failed.length})`;
  console.log(`run ${run + 1} of ${runs}, seed ${seed}: ${word} in ${outcome.seconds.toFixed(0)} s`);
}
report();
process.exit(failures.length === 0 ? 0 : 1);

/** One run of the suite, with its own busy loops, so that a killed tool leaves none behind for long. */
async function once(seed) {
  const log = join(folder, `${seed}.log`);
  const result = join(folder, `${seed}.json`);
  const loops = Array.from({ length: busy }, () =>
    spawn(...pinned(process.execPath, ['-e', 'for (;;);']), { stdio: 'ignore' }),
  );
  const startedAt = performance.now();
  const script = join(root, 'scripts', values.full ? 'test-full.mjs' : 'test.mjs');
  const output = openSync(log, 'w');
  const env = { ...process.env, MILLRACE_TEST_SEED: String(seed), MILLRACE_TEST_REPORT: result };
  const machine = heldUpSecs > 0 ? heldUp(heldUpSecs) : null;
  const command = pinned(process.execPath, [script, ...positionals]);
  const child = spawn(...(machine ? machine.wrap(...command) : command), {
    stdio: ['ignore', output, output],
    env,
  });
  const stop = (signal) => {
    stopped = true;
    for (const each of [child, ...loops]) each.kill(signal);
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const code = await new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exit) => resolve(exit ?? 1));
    });
    return { code, seconds: (performance.now() - startedAt) / 1000, failed: failedOf(code, result, log) };
  } finally {
    machine?.stop();
    for (const loop of loops) loop.kill('SIGKILL');
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}

/** The command, kept to the first cores. Without taskset (on macOS, say) a wish for fewer cores is an error. */
function pinned(program, args) {
  if (cores >= availableParallelism()) return [program, args];
  return ['taskset', ['-c', `0-${cores - 1}`, program, ...args]];
}

/** The tests that failed, by vitest's own report; a stage that failed without one is named by the end of the log. */
function failedOf(code, result, log) {
  const failed = readTests(result).filter(({ status }) => status === 'failed');
  if (code === 0 || failed.length > 0) return failed;
  const end = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-15).join('\n');
  return [{ name: 'a stage other than the tests', file: relative(root, log), message: end }];
}

function readTests(path) {
  try {
    const { testResults } = JSON.parse(readFileSync(path, 'utf8'));
    return testResults.flatMap(({ name, message, status, assertionResults }) => {
      const file = relative(root, name);
      if (status === 'failed' && assertionResults.length === 0) return [{ name: 'the file', file, status, message }];
      return assertionResults.map(({ fullName, status, failureMessages }) => ({
        name: fullName,
        file,
        status,
        message: failureMessages?.join('\n') ?? '',
      }));
    });
  } catch {
    return [];
  }
}

function report() {
  const slowest = Math.max(...seconds);
  console.log(
    `\n${runs} runs, ${busy} busy loops, ${cores} cores, held up for ${heldUpSecs} s of each minute: the slowest took ${slowest.toFixed(0)} s`,
  );
  const byTest = groupBy(failures);
  if (byTest.size === 0) return console.log('nothing failed');
  for (const [key, found] of byTest) {
    console.log(`\n${found.length} of ${runs}  ${key}  (seeds ${found.map(({ seed }) => seed).join(', ')})`);
    console.log(
      found[0].message
        .split('\n')
        .slice(0, 12)
        .map((line) => `    ${line}`)
        .join('\n'),
    );
  }
  writeFileSync(join(folder, 'failures.json'), `${JSON.stringify(failures, null, 2)}\n`);
}

function keyOf({ file, name }) {
  return `${file}: ${name}`;
}

function groupBy(list) {
  const groups = new Map();
  for (const each of list) groups.set(keyOf(each), [...(groups.get(keyOf(each)) ?? []), each]);
  return groups;
}
