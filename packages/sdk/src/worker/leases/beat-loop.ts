import type { JsonObject } from '../../json/object.js';
import { monotonicMs } from '../clock.js';
import type { Beat, BeatAnswer } from './heartbeat-calls.js';
import type { Lease, LeaseCells } from './lease-cells.js';

export interface BeatLoopOptions {
  readonly cells: LeaseCells;
  readonly leaseMs: number;
  /** Sends heartbeats and resolves to their answers, in order; never rejects. */
  readonly send: (beats: readonly Beat[], timeoutMs: number) => Promise<BeatAnswer[]>;
  /** The job was taken away: stop it. */
  readonly onLost: (lease: Lease, answer: BeatAnswer) => void;
}

interface Progress {
  readonly generation: number;
  readonly value: JsonObject;
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
  readonly #progress = new Map<number, Progress>();
  /** Generations of cells whose jobs were taken away, until those who hold them have noticed. */
  readonly #lost = new Map<number, number>();
  readonly #timeoutMs: number;
  #nextRound = 0;
  /** The earliest instant for which a round was asked since the last one began. */
  #askedRound = Infinity;
  #nextProgress = 0;
  #wake: () => void = () => undefined;
  #stopped = false;

  constructor(options: BeatLoopOptions) {
    this.#options = options;
    // Long enough for a busy server, short enough for two tries within half a lease.
    this.#timeoutMs = Math.min(Math.max(options.leaseMs / 4, 1_000), 10_000);
    this.#plan(monotonicMs() + options.leaseMs / 2);
    void this.#run();
  }

  /** A lease has been taken that is half over at this instant. */
  beatBy(dueMs: number): void {
    this.#askedRound = Math.min(this.#askedRound, dueMs);
    if (dueMs < this.#nextRound) this.#wake();
  }

  progress(cell: number, generation: number, value: JsonObject): void {
    if (!this.#options.cells.isTaken(cell, generation)) return;
    this.#progress.set(cell, { generation, value });
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
      const isRound = now >= this.#dueRound();
      if (isRound) this.#beginRound();
      const leases = this.#current().filter(({ cell }) => isRound || this.#progress.has(cell));
      this.#nextProgress = now + PROGRESS_EVERY_MS;
      const answered = leases.length === 0 || this.#isAbandoned(now) || (await this.#beat(leases, now));
      if (!isRound && answered) continue;
      failures = answered ? 0 : failures + 1;
      this.#plan(answered ? now + this.#options.leaseMs / 2 : monotonicMs() + (failures === 1 ? 0 : REPEAT_MS));
    }
  }

  /** From here on a lease that is taken may be missed by this round: who takes one asks for the next. */
  #beginRound(): void {
    this.#askedRound = Infinity;
    this.#options.cells.planRound(null);
  }

  #plan(atMs: number): void {
    this.#nextRound = atMs;
    this.#options.cells.planRound(atMs);
  }

  #dueRound(): number {
    return Math.min(this.#nextRound, this.#askedRound);
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
        const due = this.#progress.size > 0 ? Math.min(this.#dueRound(), this.#nextProgress) : this.#dueRound();
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

  /** What is held now; forgets what is known of other generations. */
  #current(): Lease[] {
    const { cells } = this.#options;
    for (const [cell, { generation }] of this.#progress) {
      if (!cells.isTaken(cell, generation)) this.#progress.delete(cell);
    }
    for (const [cell, generation] of this.#lost) if (!cells.isTaken(cell, generation)) this.#lost.delete(cell);
    const leases: Lease[] = [];
    for (let cell = 0; cell < cells.count; cell++) {
      const lease = this.#lost.has(cell) ? null : cells.read(cell);
      if (lease !== null) leases.push(lease);
    }
    return leases;
  }

  #isAbandoned(now: number): boolean {
    return now - this.#options.cells.pulseMs() > SILENCE_MS;
  }

  /** Resolves to whether every heartbeat was answered. */
  async #beat(leases: readonly Lease[], sentAt: number): Promise<boolean> {
    const { cells, leaseMs, send } = this.#options;
    const said = leases.map(({ cell }) => this.#progress.get(cell));
    const beats = leases.map(({ jobId, token }, index) => ({ jobId, token, progress: said[index]?.value }));
    const answers = await send(beats, this.#timeoutMs);
    let all = true;
    leases.forEach((lease, index) => {
      const answer = answers[index] ?? 'unanswered';
      if (answer === 'unanswered') {
        all = false;
        return;
      }
      if (this.#progress.get(lease.cell) === said[index]) this.#progress.delete(lease.cell);
      if (!cells.isTaken(lease.cell, lease.generation)) return;
      if (answer === 'running') cells.extend(lease.cell, sentAt + leaseMs);
      else this.#lose(lease, answer);
    });
    return all;
  }

  #lose(lease: Lease, answer: BeatAnswer): void {
    this.#lost.set(lease.cell, lease.generation);
    this.#options.onLost(lease, answer);
  }
}
