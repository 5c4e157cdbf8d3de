import { randomInt } from 'node:crypto';
import { runMain, say } from '@millrace/tools-shared';
import { measureClasses, memoryTable } from './memory-classes.js';
import { parseOptions } from './options.js';
import { asJson, inWords, isClean, saveFailures } from './report.js';
import { run } from './run.js';

async function main(): Promise<number> {
  // An interrupted run still stops its server, which stops its database.
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort());
  const options = parseOptions(process.argv.slice(2), randomInt(2 ** 32));
  say(`seed ${options.seed}`);
  if (options.memory) {
    const classes = await measureClasses({ ...options, say, signal: interrupted.signal });
    process.stdout.write(`${options.json ? JSON.stringify(classes, null, 2) : memoryTable(classes)}\n`);
    return interrupted.signal.aborted ? 130 : 0;
  }
  const result = await run({ ...options, say, signal: interrupted.signal });
  process.stdout.write(`${options.json ? asJson(result) : inWords(result)}\n`);
  if (options.save !== null) saveFailures(options.save, result);
  if (interrupted.signal.aborted) return 130;
  return isClean(result) ? 0 : 1;
}

process.exitCode = await runMain(main);
