import { constants } from 'node:os';
import type { Logger } from '@millrace/server';

/**
 * Signals that ask the process to stop. The first one means: finish what is in flight. The next one means: now.
 *
 * Under npm one Ctrl-C arrives twice: the terminal sends it to every process in the foreground, and npm, which is one
 * of them, forwards its own. Both come within milliseconds, sooner than a person can press the keys again, so under npm
 * an early repetition counts as an echo.
 */
const ECHO_MS = 500;
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

export interface StopOptions {
  readonly underNpm: boolean;
  /** Whether a signal that comes before the service serves ends the process without further ado. */
  readonly exitsUntilServing: boolean;
}

/** Heeds signals from the moment it is made. */
export class Signals {
  /** Resolves with the first one that asks to stop. */
  readonly stop: Promise<void>;
  #resolve: () => void = () => undefined;
  #firstAt: number | null = null;
  #serving = false;
  #hangup: (() => void) | null = null;

  constructor(
    private readonly logger: Logger,
    private readonly options: StopOptions,
  ) {
    this.stop = new Promise((resolve) => (this.#resolve = resolve));
    for (const signal of STOP_SIGNALS) process.on(signal, () => this.#handle(signal));
    process.on('SIGHUP', () => (this.#hangup === null ? this.#handle('SIGHUP') : this.#hangup()));
  }

  /** From now on there may be work to finish. */
  serving(): void {
    this.#serving = true;
  }

  /**
   * What SIGHUP means instead of a stop. By default it stops the process, because it comes from a terminal that was
   * closed, and would otherwise kill it in the middle of its work.
   */
  onHangup(act: () => void): void {
    this.#hangup = act;
  }

  #handle(signal: NodeJS.Signals): void {
    const now = performance.now();
    if (this.#firstAt === null) {
      this.#firstAt = now;
      return this.#first(signal);
    }
    if (this.options.underNpm && signal === 'SIGINT' && now - this.#firstAt < ECHO_MS) return;
    this.logger.warn({ signal }, 'exiting at once');
    process.exit(128 + constants.signals[signal]);
  }

  #first(signal: NodeJS.Signals): void {
    this.logger.info({ signal }, 'stopping; a second signal exits at once');
    if (!this.#serving && this.options.exitsUntilServing) process.exit(0);
    this.#resolve();
  }
}
