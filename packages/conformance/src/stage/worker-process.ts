import { spawn } from 'node:child_process';

/** A worker under test. */
export interface WorkerProcess {
  /** Everything it has printed so far, up to a bound. */
  output(): string;
  signal(name: NodeJS.Signals): void;
  /** Null while it runs. */
  end(): WorkerEnd | null;
  /** Ends it, and whatever it has started, at once. */
  kill(): Promise<void>;
}

export interface WorkerEnd {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly at: number;
}

/** How much output is kept per worker; a worker that prints more is checked for secrets only up to here. */
const OUTPUT_MAX_CHARACTERS = 4 * 1024 * 1024;

export function startWorkerProcess(command: readonly string[], variables: NodeJS.ProcessEnv): WorkerProcess {
  const [program = '', ...args] = command;
  // The leader of a process group of its own, so that its children end with it.
  const child = spawn(program, args, {
    env: { ...process.env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  let end: WorkerEnd | null = null;
  const note = (text: string): void => {
    if (output.length < OUTPUT_MAX_CHARACTERS) output += text;
  };
  child.stdout.setEncoding('utf8').on('data', note);
  child.stderr.setEncoding('utf8').on('data', note);
  const killAtExit = (): void => killGroup(child.pid);
  process.once('exit', killAtExit);
  const ended = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      note(`${program}: ${error.message}\n`);
      end ??= { code: 127, at: performance.now() };
      resolve();
    });
    child.on('exit', (code) => {
      end ??= { code, at: performance.now() };
      resolve();
    });
  });
  return {
    output: () => output,
    signal: (name) => void child.kill(name),
    end: () => end,
    kill: async () => {
      killGroup(child.pid);
      await ended;
      process.off('exit', killAtExit);
    },
  };
}

function killGroup(leader: number | undefined): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of them have ended.
  }
}
