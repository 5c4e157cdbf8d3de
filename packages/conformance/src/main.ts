import { runKit, WorkerDidNotStart, type ScenarioResult } from './kit.js';
import { readOptions, Usage, type Options } from './options.js';
import { json, table } from './report.js';
import { installedServer, startDevServer } from './stage/dev-server.js';
import { Violation } from './stage/violation.js';

/** Runs the command line; resolves to the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    return await run(readOptions(argv));
  } catch (error) {
    if (error instanceof WorkerDidNotStart || error instanceof Violation) {
      process.stderr.write(`${error.message}\n`);
      return 2;
    }
    if (!(error instanceof Usage)) throw error;
    (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message}\n`);
    return error.exitCode;
  }
}

async function run(options: Options): Promise<number> {
  const server = options.url === undefined ? await startDevServer(options.server ?? installedServer()) : null;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void (server?.stop() ?? Promise.resolve()).finally(() => process.exit(130)));
  }
  try {
    const serverUrl = server?.url ?? options.url ?? '';
    const results = await runKit({ ...options, serverUrl, onResult: showProgress });
    process.stdout.write(`${options.json ? json(results) : table(results)}\n`);
    return results.every(({ passed }) => passed) ? 0 : 1;
  } finally {
    await server?.stop();
  }
}

/** One line per scenario as it ends, beside the results and not among them. */
function showProgress({ number, title, passed, seconds }: ScenarioResult): void {
  process.stderr.write(`${passed ? 'pass' : 'FAIL'} ${number} ${title} (${seconds.toFixed(1)} s)\n`);
}
