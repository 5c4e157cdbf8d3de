import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startProgram, type Program, type ProgramSpec } from './programs.js';
import { until } from './until.js';

/** The built program of this clone. */
export const MILLRACE = fileURLToPath(new URL('../../../packages/cli/bin/millrace.mjs', import.meta.url));

/** A line of the log. */
export interface LogLine {
  readonly level?: number | string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

/** The service as an operator runs it: the program, with these flags and this environment and nothing else. */
export interface ServiceSpec extends Pick<ProgramSpec, 'env' | 'atExit'> {
  readonly flags: readonly string[];
  /** Of the API, on this machine. */
  readonly port?: number;
}

const listenOn = (port: number): readonly string[] => [
  'serve',
  '--host=127.0.0.1',
  `--api-port=${port}`,
  '--metrics-port=0',
];

export interface Service extends Program {
  readonly apiUrl: string;
  readonly metricsUrl: string;
}

/** Starts the service on a free port, or on the one named; resolves once its log says that it listens. */
export async function startService(
  { flags, port = 0, ...spec }: ServiceSpec,
  onLine: (line: LogLine, text: string) => void = () => undefined,
): Promise<Service> {
  const args = [...listenOn(port), '--log-format=json', ...flags];
  const program = startProgram({ ...spec, script: MILLRACE, args, stdio: ['ignore', 'pipe', 'inherit'] });
  const { stdout } = program.child;
  if (stdout === null) throw new Error('the service has no log to read');
  return new Promise((resolve, reject) => {
    // Read to the end, or the pipe would fill up and block the service.
    const lines = createInterface({ input: stdout });
    lines.on('line', (text) => {
      if (!text.startsWith('{')) return;
      const line = JSON.parse(text) as LogLine;
      if (line.msg === 'listening') {
        resolve({ ...program, apiUrl: line.api as string, metricsUrl: line.metrics as string });
      }
      onLine(line, text);
    });
    lines.on('close', () => reject(new Error('the service ended before it listened; see above')));
  });
}

export interface QuietServiceSpec extends ServiceSpec {
  readonly port: number;
  /** Where its log goes. */
  readonly stdout: 'inherit' | 'ignore';
  readonly withinMs: number;
}

/** The same for a log that is too quiet to say anything: resolves once the service is ready on its port. */
export async function startQuietService({
  flags,
  port,
  stdout,
  withinMs,
  ...spec
}: QuietServiceSpec): Promise<Program> {
  const args = [...listenOn(port), ...flags];
  const program = startProgram({ ...spec, script: MILLRACE, args, stdio: ['ignore', stdout, 'inherit'] });
  const isReady = async (): Promise<boolean> => {
    if (!program.isAlive()) throw new Error('the service ended before it was ready; see above');
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => null);
    await answer?.body?.cancel();
    return answer?.status === 200;
  };
  await until(isReady, { what: `the service on port ${port} to be ready`, withinMs, everyMs: 100 });
  return program;
}
