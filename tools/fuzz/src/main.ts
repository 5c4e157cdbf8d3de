import { randomInt } from 'node:crypto';
import { parseOptions, UsageError } from './options.js';
import { asJson, inWords, isClean, saveFailures } from './report.js';
import { run } from './run.js';

const say = (text: string): void => void process.stderr.write(`${text}\n`);

async function main(): Promise<void> {
  // A run that is called off still stops its server, and that its database.
  const calledOff = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => calledOff.abort());
  const options = parseOptions(process.argv.slice(2), randomInt(2 ** 32));
  say(`seed ${options.seed}`);
  const result = await run({ ...options, say, signal: calledOff.signal });
  process.stdout.write(`${options.json ? asJson(result) : inWords(result)}\n`);
  if (options.save !== null) saveFailures(options.save, result);
  if (!isClean(result)) process.exitCode = 1;
  if (calledOff.signal.aborted) process.exitCode = 130;
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  say(error.message);
  process.exitCode = error.exitCode;
}
