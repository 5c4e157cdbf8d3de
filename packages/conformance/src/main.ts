import { runKit } from './kit.js';
import { readOptions, Usage, type Options } from './options.js';
import { json, table } from './report.js';
import { installedServer, startDevServer } from './stage/dev-server.js';

/** Runs the command line; resolves to the exit code. */
export async function main(argv: readonly string[]): Promise<number> {
  try {
    return await run(readOptions(argv));
  } catch (error) {
    if (!(error instanceof Usage)) throw error;
    (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message}\n`);
    return error.exitCode;
  }
}

async function run(options: Options): Promise<number> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
  const server = options.url === undefined ? await startDevServer(options.server ?? installedServer()) : null;
  try {
    const results = await runKit({ ...options, serverUrl: server?.url ?? options.url ?? '' });
    process.stdout.write(`${options.json ? json(results) : table(results)}\n`);
    return results.every(({ passed }) => passed) ? 0 : 1;
  } finally {
    await server?.stop();
  }
}
