import { LogBuffer, type BufferedLine } from '@millrace/sdk/durable';
import type { Logger } from 'pino';
import { logLine } from '../domain/log-lines.js';
import type { HeldJob } from '../engine/leases/bundle.js';
import type { Logs } from '../engine/jobs/logs.js';
import type { HeldLeases } from './held-leases.js';

/**
 * What in-process handlers write with `log` is kept with their attempt, beside going to the log of the server: stored
 * before their outcome, or after a second. A job that writes leaves its bundle, since lines stand under the lease of
 * their job; one that writes nothing pays nothing.
 */
export interface KeptLogsOptions {
  readonly logs: Pick<Logs, 'append'>;
  readonly heldLeases: Pick<HeldLeases, 'separate' | 'isGone'>;
  readonly logger: Logger;
  /** Makes a logger of which every line comes to the sink, free of secrets. */
  readonly lineLogger: (sink: (line: string) => void) => Logger;
}

const EVERY_MS = 1_000;
const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
const KEPT_AS: Readonly<Record<string, keyof Words>> = { trace: 'debug', fatal: 'error' };
type Words = Record<'debug' | 'info' | 'warn' | 'error', true>;

export class KeptLogs {
  readonly #buffers = new Map<HeldJob, LogBuffer>();
  readonly #storing = new Map<HeldJob, Promise<void>>();
  readonly #lines: Logger;
  /** Whose handler writes at this moment: lines arrive before the call that wrote them returns. */
  #writing: HeldJob | null = null;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  constructor(private readonly options: KeptLogsOptions) {
    this.#lines = options.lineLogger((line) => this.#receive(line));
  }

  /** The logger of one attempt. */
  loggerFor(held: HeldJob): Logger {
    return this.#both(held, this.options.logger, this.#lines);
  }

  /** Whether it has written anything that is not stored. */
  has(held: HeldJob): boolean {
    return this.#buffers.has(held);
  }

  /** Stores what it wrote; its lease is its own by now. What cannot be stored stays, for another try. */
  async store(held: HeldJob): Promise<void> {
    await this.#storing.get(held);
    const buffer = this.#buffers.get(held);
    if (buffer === undefined || buffer.isEmpty) return;
    const storing = this.#append(held, buffer);
    this.#storing.set(held, storing);
    try {
      await storing;
    } finally {
      this.#storing.delete(held);
    }
  }

  /** Nothing of it is wanted any more. */
  forget(held: HeldJob): void {
    this.#buffers.delete(held);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer) clearTimeout(this.#timer);
  }

  #both(held: HeldJob, logger: Logger, lines: Logger): Logger {
    const both = Object.create(logger) as Logger;
    for (const level of LEVELS)
      both[level] = (...args: unknown[]) => {
        logger[level](...(args as [string]));
        this.#writing = held;
        lines[level](...(args as [string]));
        this.#writing = null;
      };
    both.child = ((...args: [never]) => this.#both(held, logger.child(...args), lines.child(...args))) as never;
    return both;
  }

  #receive(line: string): void {
    const held = this.#writing;
    if (held === null || this.options.heldLeases.isGone(held)) return;
    const { level, msg = '', time: _time, pid: _pid, ...fields } = JSON.parse(line) as Record<string, unknown>;
    let buffer = this.#buffers.get(held);
    if (buffer === undefined) this.#buffers.set(held, (buffer = new LogBuffer()));
    const word = String(level);
    buffer.write(KEPT_AS[word] ?? (word as keyof Words), msg, fields);
    this.#arm();
  }

  async #storeAll(): Promise<void> {
    const { heldLeases, logger } = this.options;
    await Promise.all(
      [...this.#buffers.keys()].map(async (held) => {
        if (heldLeases.isGone(held)) return this.forget(held);
        try {
          await heldLeases.separate(held);
          await this.store(held);
        } catch (error) {
          logger.debug({ err: error, job_id: held.job.id }, 'what a handler wrote could not be stored yet');
        }
      }),
    );
    this.#timer = null;
    if (this.#buffers.size > 0) this.#arm();
  }

  #arm(): void {
    if (this.#isStopped) return;
    this.#timer ??= setTimeout(() => void this.#storeAll(), EVERY_MS);
  }

  async #append(held: HeldJob, buffer: LogBuffer): Promise<void> {
    const lines = buffer.take();
    try {
      const lease = { id: held.job.id, token: held.leaseToken };
      await this.options.logs.append({ ...lease, lines: lines.map(toLine) });
    } catch (error) {
      buffer.putBack(lines);
      throw error;
    }
  }
}

const toLine = ({ at, level, message, fields }: BufferedLine): ReturnType<typeof logLine> =>
  logLine(at, level, message, fields === undefined ? null : JSON.stringify(fields));
