import { MillraceError } from '../../errors/call-errors.js';
import type { Transport } from '../../http/transport.js';
import type { JsonObject } from '../../json/object.js';
import { LogBuffer, type BufferedLine } from '../../shared/log-buffer.js';
import type { Logger } from '../../shared/logger.js';
import type { HeartbeatsResponse } from '../../wire/index.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import type { HeldJob, HeldJobs } from '../leases/held-jobs.js';

export interface LogSenderOptions {
  readonly transport: Transport;
  readonly features: AssumedFeatures;
  readonly jobs: HeldJobs;
  readonly leaseSecs: number;
}

interface Sent {
  readonly held: HeldJob;
  readonly buffer: LogBuffer;
  readonly lines: readonly BufferedLine[];
}

const EVERY_MS = 1_000;
const MOST_PER_CALL = 1_000;
/** One call carries about this much, far below what a server accepts. */
const BYTES_PER_CALL = 4 * 1024 * 1024;

/**
 * Takes what handlers write to the server. What is there when an attempt ends goes with its report; before that it goes
 * once a second, with heartbeats of its own. Handlers that write nothing cost nothing.
 */
export class LogSender {
  readonly #options: LogSenderOptions;
  readonly #buffers = new Map<HeldJob, LogBuffer>();
  readonly #sending = new Map<HeldJob, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LogSenderOptions) {
    this.#options = options;
  }

  /** What is written after the attempt has ended is not kept. */
  write(held: HeldJob, level: keyof Logger, message: string, fields?: JsonObject): void {
    const { features, jobs } = this.#options;
    if (held.reporting || !features.has('logs') || !jobs.has(held)) return;
    let buffer = this.#buffers.get(held);
    if (buffer === undefined) this.#buffers.set(held, (buffer = new LogBuffer()));
    buffer.write(level, message, fields);
    this.#arm();
  }

  /** About how many bytes its report will bring along. */
  sizeOf(held: HeldJob): number {
    return this.#buffers.get(held)?.size ?? 0;
  }

  /** Resolves when none of these jobs has lines under way: they would arrive after the report, and be lost. */
  async settled(jobs: readonly HeldJob[]): Promise<void> {
    if (jobs.some((held) => this.#buffers.has(held))) await this.#options.features.isKnown('logs');
    await Promise.all(jobs.flatMap((held) => this.#sending.get(held) ?? []));
  }

  /** What the report of a job is to bring along. */
  take(held: HeldJob): readonly BufferedLine[] {
    const lines = this.#buffers.get(held)?.take() ?? [];
    this.#buffers.delete(held);
    return this.#options.features.has('logs') ? lines : [];
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #arm(): void {
    this.#timer ??= setTimeout(() => void this.#sendAll(), EVERY_MS);
  }

  async #sendAll(): Promise<void> {
    const { features, jobs } = this.#options;
    // A server that knows no logs would refuse the heartbeats.
    if (!(await features.isKnown('logs'))) this.#buffers.clear();
    for (const held of this.#buffers.keys()) if (!jobs.has(held)) this.#buffers.delete(held);
    await Promise.all(this.#parts().map((part) => this.#send(part)));
    this.#timer = undefined;
    // Those that are being reported go with the report.
    if ([...this.#buffers].some(([held, buffer]) => !held.reporting && !buffer.isEmpty)) this.#arm();
  }

  #parts(): Sent[][] {
    const parts: Sent[][] = [];
    let bytes = Infinity;
    for (const [held, buffer] of this.#buffers) {
      if (held.reporting || buffer.isEmpty) continue;
      bytes += buffer.size;
      if (bytes > BYTES_PER_CALL || parts.at(-1)!.length >= MOST_PER_CALL) {
        parts.push([]);
        bytes = buffer.size;
      }
      parts.at(-1)!.push({ held, buffer, lines: buffer.take() });
    }
    return parts;
  }

  async #send(part: readonly Sent[]): Promise<void> {
    const sending = this.#call(part);
    for (const { held } of part) this.#sending.set(held, sending);
    await sending;
    for (const { held } of part) this.#sending.delete(held);
  }

  /** Never rejects. What was not answered is sent again, or goes with the report. */
  async #call(part: readonly Sent[]): Promise<void> {
    const { transport, leaseSecs } = this.#options;
    const leases = part.map(({ held: { lease }, lines }) => ({
      job_id: lease.jobId,
      lease_token: lease.token,
      logs: lines,
    }));
    const body = { extend_secs: leaseSecs, leases };
    try {
      const answer = await transport.call<HeartbeatsResponse>({ method: 'POST', path: '/heartbeats', body });
      part.forEach(({ buffer, lines }, index) => {
        const code = answer.body.leases[index]?.code;
        if (code === 'unavailable' || code === 'internal') buffer.putBack(lines);
      });
    } catch (error) {
      // The keeper's own heartbeats tell whether the leases stand.
      if (!isRefused(error)) for (const { buffer, lines } of part) buffer.putBack(lines);
    }
  }
}

const isRefused = (error: unknown): boolean =>
  error instanceof MillraceError && (error.status === 400 || error.status === 413);
