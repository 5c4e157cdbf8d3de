import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Failure } from './campaign.js';
import { encode } from './draft.js';
import type { RunResult } from './run.js';

const MAX_BYTES_SHOWN = 3_000;

export const isClean = ({ tally, findings }: RunResult): boolean =>
  Object.keys(tally.byRule).length === 0 && findings.length === 0;

const bytesOf = ({ case: failing }: Failure): Buffer => failing.raw ?? encode(failing.draft);

export function inWords(result: RunResult): string {
  const { tally, findings, memory, seed, seconds } = result;
  const lines = [
    `seed ${seed}: ${tally.sent} requests in ${seconds} s`,
    `answers: ${counts(tally.byStatus)}`,
    `requests: ${counts(tally.byKind)}`,
    `slow clients: ${result.slowClients}`,
    memoryLine(memory),
    ...tally.failures.flatMap((failure) => failureLines(seed, failure)),
    ...findings.map(({ rule, detail }) => `FAIL ${rule}: ${detail}`),
    isClean(result)
      ? 'no violations'
      : `violations: ${counts(tally.byRule)}${findings.length > 0 ? `, others ${findings.length}` : ''}`,
  ];
  return lines.join('\n');
}

/** Everything needed to send the request again, by seed and number or by hand. */
function failureLines(seed: number, failure: Failure): string[] {
  const { rule, detail, index, kind, operation } = failure;
  const bytes = bytesOf(failure);
  const cut = bytes.length > MAX_BYTES_SHOWN ? ` (the first ${MAX_BYTES_SHOWN} of ${bytes.length} bytes)` : '';
  return [
    `FAIL ${rule}: ${detail}`,
    `     ${operation}, ${kind}; to repeat: npm run fuzz -- --seed ${seed} --from ${index} --count 1 --no-slow`,
    `     ${JSON.stringify(bytes.toString('latin1', 0, MAX_BYTES_SHOWN))}${cut}`,
  ];
}

function memoryLine(memory: RunResult['memory']): string {
  if (memory === null) return 'memory: too few requests to say';
  const one = (kind: 'live' | 'resident'): string => {
    const [before, after] = [mebibytes(memory.afterWarmUp[kind]), mebibytes(memory.atEnd[kind])];
    return `${kind} ${before} after the warm-up, ${after} at the end, ratio ${memory.ratio[kind].toFixed(2)}`;
  };
  return `memory: ${one('live')}; ${one('resident')}`;
}

const mebibytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;

const counts = (table: Readonly<Record<string, number>>): string =>
  Object.entries(table)
    .sort(([a], [b]) => a.localeCompare(b))
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');

export function asJson(result: RunResult): string {
  const { failures, sorts: _, ...tally } = result.tally;
  const shown = failures.map((failure) => ({
    rule: failure.rule,
    detail: failure.detail,
    index: failure.index,
    kind: failure.kind,
    operation: failure.operation,
    bytes: bytesOf(failure).toString('base64'),
  }));
  return JSON.stringify({ ...result, clean: isClean(result), tally: { ...tally, failures: shown } }, null, 2);
}

export function saveFailures(directory: string, { seed, tally }: RunResult): void {
  mkdirSync(directory, { recursive: true });
  for (const failure of tally.failures) {
    writeFileSync(join(directory, `${seed}-${failure.index}-${failure.rule}.bin`), bytesOf(failure));
  }
}
