import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, release, totalmem, type } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '@millrace/server';

export const ROOT = fileURLToPath(new URL('../../../..', import.meta.url));

export interface MachineFacts {
  readonly date: string;
  readonly cores: number;
  readonly processor: string;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  readonly postgres: string;
  readonly redis: string | null;
  readonly millrace: string;
  readonly commit: string | null;
  readonly peers: Readonly<Record<string, string>>;
  /** The load average before anything was started: well above zero means that other programs were at work. */
  readonly loadBefore: number;
}

export function machineFacts(
  postgres: string,
  redis: string | null,
  river: string | null,
  loadBefore: number,
): MachineFacts {
  return {
    date: new Date().toISOString(),
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    postgres,
    redis,
    millrace: VERSION,
    commit: commit(),
    peers: { ...peerVersions(), ...(river !== null && { river }) },
    loadBefore,
  };
}

export const loadNow = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10;

/** Null in a copy without its repository. */
function commit(): string | null {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' }).trim();
  } catch {
    return null;
  }
}

function peerVersions(): Record<string, string> {
  const path = join(ROOT, 'tools/bench/package.json');
  const { dependencies } = JSON.parse(readFileSync(path, 'utf8')) as { dependencies: Record<string, string> };
  return dependencies;
}
