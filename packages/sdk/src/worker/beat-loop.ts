import type { JsonObject } from '../json.js';
import { monotonicMs } from './clock.js';
import type { Beat, BeatAnswer } from './heartbeat-calls.js';
import type { LeaseCells } from './lease-cells.js';

/** A lease as the keeper knows it; see LeaseCells for the cell and its generation. */
export interface Lease {
  readonly cell: number;
  readonly generation: number;
  readonly jobId: string;
  readonly token: string;
}

export interface BeatLoopOptions {
  readonly cells: LeaseCells;
  readonly leaseMs: number;
  /** Sends heartbeats and resolves to their answers, in order; never rejects. */
  readonly send: (beats: readonly Beat[], timeoutMs: number) => Promise<BeatAnswer[]>;
  /** The job was taken away: stop it. */
  readonly onLost: (lease: Lease, answer: BeatAnswer) => void;
}

/** Without a sign of life of the handlers' thread for this long, its jobs are left to others. */
const SILENCE_MS = 300_000;
const REPEAT_MS = 1_000;
const PROGRESS_EVERY_MS = 1_000;

/**
 * Heartbeats every held lease at half its length, all in one call. Without an answer it tries again at once, then every
 * second. At most one round is under way; what must be sent earlier than the next one (progress, a lease that is half
 * over when it arrives) wakes the loop.
 */
export class BeatLoop {
  readonly #options: BeatLoopOptions;
  readonly #held = new Map<number, Lease>();
  readonly #progress = new Map<number, JsonObject>();
  readonly #timeoutMs: number;
  #nextRound: number;
  #nextProgress = 0;
  #wake: () => void = () => undefined;
  #stopped = false;

  constructor(options: BeatLoopOptions) {
    this.#options = options;
    // Long enough for a busy server, short enough for two tries within half a lease.
    this.#timeoutMs = Math.min(Math.max(options.leaseMs / 4, 1_000), 10_000);
    this.#nextRound = monotonicMs() + options.leaseMs / 2;
    void this.#run();
  }

  hold(leases: readonly Lease[]): void {
    for (const lease of leases) {
      this.#progress.delete(lease.cell);
      this.#held.set(lease.cell, lease);
    }
    const due = Math.min(...leases.map(({ cell }) => this.#options.cells.deadlineMs(cell))) - this.#options.leaseMs / 2;
    if (due < this.#nextRound) {
      this.#nextRound = due;
      this.#wake();
    }
  }

  progress(cell: number, generation: number, value: JsonObject): void {
    if (this.#held.get(cell)?.generation !== generation) return;
    this.#progress.set(cell, value);
    this.#wake();
  }

  stop(): void {
    this.#stopped = true;
    this.#wake();
  }

  async #run(): Promise<void> {
    for (let failures = 0; !this.#stopped;) {
      await this.#sleep();
      if (this.#isStopped()) return;
      const now = monotonicMs();
      const isRound = now >= this.#nextRound;
      const leases = this.#current().filter(({ cell }) => isRound || this.#progress.has(cell));
      this.#nextProgress = now + PROGRESS_EVERY_MS;
      const answered = leases.length === 0 || this.#isAbandoned(now) || (await this.#beat(leases, now));
      if (!isRound && answered) continue;
      failures = answered ? 0 : failures + 1;
      this.#nextRound = answered ? now + this.#options.leaseMs / 2 : monotonicMs() + (failures === 1 ? 0 : REPEAT_MS);
    }
  }

  /** Changes while the loop sleeps. */
  #isStopped(): boolean {
    return this.#stopped;
  }

  /** Until the next round is due, or there is progress to send. */
  #sleep(): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined;
      const look = (): void => {
        clearTimeout(timer);
        const due = this.#progress.size > 0 ? Math.min(this.#nextRound, this.#nextProgress) : this.#nextRound;
        const waitMs = this.#stopped ? 0 : due - monotonicMs();
        if (waitMs <= 0) {
          this.#wake = () => undefined;
          resolve();
        } else timer = setTimeout(look, waitMs);
      };
      this.#wake = look;
      look();
    });
  }

  /** What is still held; forgets the rest. */
  #current(): Lease[] {
    for (const { cell, generation } of this.#held.values()) {
      if (this.#options.cells.isTaken(cell, generation)) continue;
      this.#held.delete(cell);
      this.#progress.delete(cell);
    }
    return [...this.#held.values()];
  }

  #isAbandoned(now: number): boolean {
    return now - this.#options.cells.pulseMs() > SILENCE_MS;
  }

  /** Resolves to whether every heartbeat was answered. */
  async #beat(leases: readonly Lease[], sentAt: number): Promise<boolean> {
    const beats = leases.map(({ cell, jobId, token }) => ({ jobId, token, progress: this.#progress.get(cell) }));
    const answers = await this.#options.send(beats, this.#timeoutMs);
    let all = true;
    leases.forEach((lease, index) => {
      const answer = answers[index] ?? 'unanswered';
      if (answer === 'unanswered') {
        all = false;
        return;
      }
      if (this.#progress.get(lease.cell) === beats[index]?.progress) this.#progress.delete(lease.cell);
      if (!this.#options.cells.isTaken(lease.cell, lease.generation)) return;
      if (answer === 'running') this.#options.cells.extend(lease.cell, sentAt + this.#options.leaseMs);
      else this.#lose(lease, answer);
    });
    return all;
  }

  #lose(lease: Lease, answer: BeatAnswer): void {
    this.#held.delete(lease.cell);
    this.#options.onLost(lease, answer);
  }
}
