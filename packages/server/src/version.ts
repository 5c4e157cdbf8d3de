import { readFileSync } from 'node:fs';

/** The version of the package, which the service reports as its own. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
