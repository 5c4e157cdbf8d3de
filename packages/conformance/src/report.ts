import type { ScenarioResult } from './kit.js';

/** The results as people read them. */
export function table(results: readonly ScenarioResult[]): string {
  const width = Math.max(8, ...results.map(({ title }) => title.length));
  const rows = results.flatMap((result) => [
    line(String(result.number), result.title, result.passed ? 'pass' : 'FAIL', `${result.seconds.toFixed(1)} s`, width),
    ...(result.passed ? [] : [`${INDENT}wanted: ${result.passes}`, `${INDENT}seen:   ${result.problem ?? ''}`]),
    ...(result.repeated === null ? [] : [`${INDENT}tried again: ${result.repeated} during the try before`]),
  ]);
  const failed = results.filter(({ passed }) => !passed).length;
  const sum = `${results.length - failed} of ${results.length} scenarios passed`;
  return [line('#', 'scenario', 'result', 'time', width), ...rows, '', sum].join('\n');
}

const INDENT = '     ';

const line = (number: string, title: string, result: string, time: string, width: number): string =>
  `${number.padStart(3)}  ${title.padEnd(width)}  ${result.padEnd(6)}  ${time.padStart(7)}`;

/** The results for programs: the same, plus what the workers of failed scenarios printed last. */
export function json(results: readonly ScenarioResult[]): string {
  const failed = results.filter(({ passed }) => !passed).map(({ number }) => number);
  return JSON.stringify({ passed: failed.length === 0, failed, scenarios: results }, null, 2);
}
