import { performance } from 'node:perf_hooks';

/** Does one step of a script and says how long it took. An error says which step it was. */
export async function step(what, work) {
  const startedAt = performance.now();
  try {
    const result = await work();
    console.log(`ok    ${what} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
    return result;
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
}
