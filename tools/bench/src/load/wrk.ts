import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Rate } from './closed-loop.js';
import { JOB_TEXT, TENANT_KEY } from '../work.js';

const execute = promisify(execFile);

/** It knows whole seconds only. */
export const wrkSeconds = (milliseconds: number): number => Math.max(1, Math.round(milliseconds / 1000));

/**
 * Single creates by wrk: a generator in C, which takes a fifth of the processor time that ours takes. It cannot check
 * every answer, only that none is a refusal.
 */
export async function createWithWrk(port: number, connections: number, milliseconds: number): Promise<Rate> {
  const dir = mkdtempSync(join(tmpdir(), 'millrace-bench-wrk-'));
  try {
    const script = join(dir, 'create.lua');
    writeFileSync(script, SCRIPT);
    const url = `http://127.0.0.1:${port}/api/v1/jobs`;
    const duration = `${wrkSeconds(milliseconds)}s`;
    // Its own limit is two seconds; a slow machine is no refusal.
    const arguments_ = [
      '-t',
      '1',
      '-c',
      String(connections),
      '-d',
      duration,
      '--timeout',
      '60s',
      '--latency',
      '-s',
      script,
      url,
    ];
    const { stdout } = await execute('wrk', arguments_);
    if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`wrk was refused:\n${stdout}`);
    return {
      perSecond: number(stdout, /Requests\/sec:\s+([\d.]+)/),
      p50: latency(stdout, 50),
      p99: latency(stdout, 99),
    };
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

const SCRIPT = `wrk.method = "POST"
wrk.body = [[${JOB_TEXT}]]
wrk.headers["Content-Type"] = "application/json"
wrk.headers["Authorization"] = "Bearer ${TENANT_KEY}"
`;

const UNITS: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 };

/** In milliseconds, from a line such as `99%   14.62ms`. */
function latency(text: string, percent: number): number {
  const [, value, unit = ''] = new RegExp(`\\s${percent}%\\s+([\\d.]+)(us|ms|s)`).exec(text) ?? [];
  return Number(value) * (UNITS[unit] ?? NaN);
}

const number = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);
