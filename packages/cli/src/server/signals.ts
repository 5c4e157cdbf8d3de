/**
 * Signals that ask the process to stop. The first one means: finish what is in flight. The next one means: now.
 *
 * Under npm one Ctrl-C arrives twice: the terminal sends it to every process in the foreground, and npm, which is one
 * of them, forwards its own. Both come within milliseconds, sooner than a person can press the keys again, so under npm
 * an early repetition counts as an echo.
 */
const ECHO_MS = 500;
/** SIGHUP: the terminal was closed, which by default would kill the process in the middle of its work. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface StopHandlers {
  readonly first: (signal: NodeJS.Signals) => void;
  readonly again: (signal: NodeJS.Signals) => void;
  readonly ignoreEcho: boolean;
}

export function onStopSignals({ first, again, ignoreEcho }: StopHandlers): void {
  let firstAt: number | null = null;
  const handle = (signal: NodeJS.Signals): void => {
    const now = performance.now();
    if (firstAt === null) {
      firstAt = now;
      first(signal);
      return;
    }
    if (ignoreEcho && signal === 'SIGINT' && now - firstAt < ECHO_MS) return;
    again(signal);
  };
  for (const signal of STOP_SIGNALS) process.on(signal, handle);
}
