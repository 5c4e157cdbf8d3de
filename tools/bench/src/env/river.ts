import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './machine.js';

const execute = promisify(execFile);
const SOURCES = join(ROOT, 'tools/bench/river');
/** Beside what the compiler of the benchmark writes. */
const PROGRAM = join(ROOT, 'tools/bench/dist/river-contender');

export interface River {
  readonly program: string;
  readonly version: string;
}

/** Builds the program that runs River, with modules from the proxy; resolves to it, or to why there is none. */
export async function buildRiver(say: (text: string) => void): Promise<River | string> {
  try {
    await execute('go', ['version']);
  } catch {
    return 'go is not installed: River is left out';
  }
  say('building River (go build) ...');
  await execute('go', ['build', '-o', PROGRAM, '.'], { cwd: SOURCES, env: { ...process.env, CGO_ENABLED: '0' } });
  return { program: PROGRAM, version: versionOf(readFileSync(join(SOURCES, 'go.mod'), 'utf8')) };
}

const versionOf = (goMod: string): string => /riverqueue\/river v(\S+)/.exec(goMod)?.[1] ?? 'unknown';
