import { readFileSync } from 'node:fs';

/** The version of the package. Read here, and not from the server, whose code takes long to load. */
export const VERSION = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
