import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { readRepositoryFile } from '../docs/generated.js';

/**
 * The path of a program, or null. Neither npm nor Node brings these programs: where one is missing, what it would have
 * checked is said aloud, so that nobody takes a run without it for a run with it.
 */
export function programOr(name: string, unchecked: string): string | null {
  const directories = [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  const found = directories.map((directory) => join(directory, name)).find(isExecutable);
  if (found === undefined) process.stderr.write(`\nNOT RUN, because there is no ${name} here: ${unchecked}\n`);
  return found ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export interface ShellBlock {
  readonly text: string;
  /** Why the tests do not run it, as the comment above it says. */
  readonly notRun: string | null;
}

/** The shell blocks of a document, in their order. */
export function shellBlocks(path: string): ShellBlock[] {
  const blocks = readRepositoryFile(path).matchAll(/(?:^<!-- not run: (.+) -->\n)?^```sh\n([^]*?)^```$/gm);
  return [...blocks].map(([, notRun = null, text]) => ({ text: text!, notRun }));
}
