import { performance } from 'node:perf_hooks';

/**
 * Runs stages in order until one fails; each ends before the next begins. A stage is a name and a function that
 * resolves to an exit code. Ends the process with 1 at the first that failed.
 */
export async function runStages(command, stages) {
  const times = [];
  for (const [name, stage] of stages) {
    console.log(`\n> ${name}`);
    const started = performance.now();
    const code = await stage();
    times.push(`${name} ${((performance.now() - started) / 1000).toFixed(1)} s`);
    if (code !== 0) {
      console.error(`\n${command}: ${name} failed (after ${times.join(', ')})`);
      process.exit(1);
    }
  }
  console.log(`\n${command}: all passed (${times.join(', ')})`);
}

/** Runs independent checks side by side; resolves, once all have ended, to the first exit code that is not 0. */
export const together =
  (...checks) =>
  async () => {
    const codes = await Promise.all(checks.map((check) => check()));
    return codes.find((code) => code !== 0) ?? 0;
  };
