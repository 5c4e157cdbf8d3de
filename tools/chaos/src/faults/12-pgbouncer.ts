import { execFile, execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Fault } from '../fault.js';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const TESTS = join(ROOT, 'packages/server/test');
/** Directories of tests that never reach a database, or that are about its connection; the rest test the API. */
const OTHERS = ['docs', 'domain', 'embedded', 'examples', 'loops', 'store', 'support', 'telemetry'];
/** Short ones that between them run every kind of statement, for the everyday run. */
const FIRST = ['idempotency.test.ts', 'worker-protocol.test.ts', 'context.test.ts'];
const ROUNDS = 3;

const isFirst = (file: string): boolean => FIRST.includes(basename(file));

const API = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.includes('/') && file.endsWith('.test.ts') && !OTHERS.includes(file.split('/')[0] ?? ''))
  .sort();
const FILES = [...API.filter(isFirst), ...API.filter((file) => !isFirst(file))];

interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** The tests of the API, unchanged, with a PgBouncer in transaction mode between the servers and PostgreSQL. */
export const pgbouncer: Fault = {
  row: 12,
  name: 'PgBouncer in transaction mode',
  check: 'the whole API suite passes',
  unit: 'test files',
  full: ROUNDS * FILES.length,
  everyday: FIRST.length,
  alone: true,
  unavailable: () => (isInstalled() ? null : 'pgbouncer is not installed'),
  async run(stage, count) {
    for (let left = count; left > 0; left -= FILES.length) {
      const files = FILES.slice(0, left);
      const report = await runTests(files);
      for (const { name, message, assertionResults } of report.testResults) {
        const failed = assertionResults.filter(({ status }) => status === 'failed');
        const file = relative(TESTS, name);
        for (const { fullName } of failed) stage.violation(`${file}: ${fullName}`);
        if (failed.length === 0 && message !== '') stage.violation(`${file}: ${message}`);
      }
      stage.expect(report.testResults.length === files.length, `${report.testResults.length} of ${files.length} ran`);
      stage.expect(report.numPassedTests >= files.length, `only ${report.numPassedTests} tests passed`);
    }
  },
};

function isInstalled(): boolean {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

function runTests(files: readonly string[]): Promise<Report> {
  const output = join(ROOT, `.cache/pgbouncer-${process.pid}.json`);
  const args = ['run', '--reporter=json', `--outputFile=${output}`, ...files.map((file) => join(TESTS, file))];
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, MILLRACE_TEST_POOLER: 'pgbouncer' };
  return new Promise((resolve, reject) => {
    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
    const options = { cwd: ROOT, env, maxBuffer: 1 << 28 };
    execFile(process.execPath, [vitest, ...args], options, (error, _stdout, stderr) => {
      try {
        resolve(JSON.parse(readFileSync(output, 'utf8')) as Report);
        rmSync(output, { force: true });
      } catch {
        reject(new Error(`the tests did not run: ${stderr || (error?.message ?? '')}`));
      }
    });
  });
}
