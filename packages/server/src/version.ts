import { readFileSync } from 'node:fs';

/** The version of the package, which is the version the service reports. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
