import { pause } from '../http/deadline.js';
import type { Transport } from '../http/transport.js';
import { milliseconds, type Duration } from '../shared/duration.js';
import { monotonicMs } from './clock.js';
import { EventSink, type WorkerSummary } from './events.js';
import { HeldJobs } from './leases/held-jobs.js';
import { JobRunner } from './running/job-runner.js';
import { startInlineKeeper, startThreadKeeper, type Keeper } from './leases/keeper.js';
import { withDefaults, type Settings, type WorkerOptions } from './options.js';
import { Poller } from './leases/poller.js';
import { LogSender } from './reports/log-sender.js';
import { Reporter } from './reports/reporter.js';
import { LEASE_MAX_TASKS } from '../rules/limits.js';
import { onSignals } from './signals.js';
import { Slots } from './leases/slots.js';
import { AssumedFeatures } from './calls/assumed-features.js';
import { openTransport } from './calls/calls.js';

/** How a worker is doing, for a health check. */
export interface WorkerHealth {
  readonly status: 'starting' | 'running' | 'draining' | 'stopped';
  /** Jobs that it runs or has yet to report on. */
  readonly held: number;
  /** When it last asked for jobs. */
  readonly lastPollAt: Date | null;
}

/** How long an open poll may take to end by itself after a stop. */
const POLL_GRACE_MS = 500;
/** How long the server is given to notice that a poll was hung up. */
const HUNG_UP_MS = 20;
/** How long handlers have after their signal before their jobs are given back. */
const ABORT_GRACE_MS = 5_000;
/** How long the last reports may take when the time is up; nothing depends on the server answering. */
const LAST_REPORTS_MS = 800;
const PULSE_MS = 1_000;
/** Cells per slot: one runs, some wait for the answer to their report; see Slots. */
const CELLS_PER_SLOT = 4;

/**
 * Runs jobs. It loses no report and steals no job: what it holds is heartbeaten from a thread of its own until the
 * report is answered, and a job that was cancelled or taken away is aborted.
 *
 * @example
 * await new Worker({
 *   queues: { emails: 20 },
 *   handlers: [sendWelcome.handle(async ({ userId }, { signal }) => ({ messageId: await send(userId, signal) }))],
 * }).run(); // until SIGTERM
 */
export class Worker {
  readonly #settings: Settings;
  readonly #events: EventSink;
  readonly #transport: Transport;
  readonly #features = new AssumedFeatures();
  readonly #jobs: HeldJobs;
  readonly #logs: LogSender;
  readonly #reporter: Reporter;
  readonly #runner: JobRunner;
  readonly #slots: ReadonlyMap<string, Slots>;
  #keeper: Keeper | undefined;
  #pollers: readonly Poller[] = [];
  #status: WorkerHealth['status'] = 'starting';
  #lastPollAt: Date | null = null;
  #refused: Error | null = null;
  #stopping: Promise<void> | undefined;
  /** Resolves when a second signal asks to release everything at once. */
  readonly #hurry = new AbortController();
  #stopped: () => void = () => undefined;

  /** @throws TypeError if an option makes no sense */
  constructor(options: WorkerOptions) {
    const settings = withDefaults(options);
    this.#settings = settings;
    this.#events = new EventSink(options.onEvent?.bind(options), settings.logger);
    this.#transport = openTransport(settings.connection);
    const total = [...settings.queues.values()].reduce((sum, count) => sum + count, 0);
    this.#jobs = new HeldJobs(total * CELLS_PER_SLOT);
    this.#slots = new Map([...settings.queues].map(([queue, count]) => [queue, new Slots(count)]));
    const leaseMs = settings.leaseSecs * 1_000;
    const { logger, hooks } = settings;
    this.#logs = new LogSender({
      transport: this.#transport,
      features: this.#features,
      jobs: this.#jobs,
      leaseSecs: settings.leaseSecs,
    });
    this.#reporter = new Reporter({
      transport: this.#transport,
      features: this.#features,
      jobs: this.#jobs,
      logs: this.#logs,
      leaseMs,
      logger,
      hooks,
      onReported: (held, reported) => this.#runner.reported(held, reported),
    });
    this.#runner = new JobRunner({
      settings,
      jobs: this.#jobs,
      reporter: this.#reporter,
      logs: this.#logs,
      keeper: () => this.#keeper ?? this.#startKeeper(),
      events: this.#events,
      transport: this.#transport,
      features: this.#features,
    });
  }

  /** For probes: whether it runs, what it holds, and when it last asked for more. */
  get health(): WorkerHealth {
    return { status: this.#status, held: this.#jobs.size, lastPollAt: this.#lastPollAt };
  }

  /**
   * Runs until `stop()` or a signal, and resolves to how its jobs ended. A handler that ignores its signal may go on
   * after that; call `process.exit()` if the program must not wait for it.
   *
   * @throws AuthError, once everything that it held has ended, if the server does not accept the token
   */
  async run(): Promise<WorkerSummary> {
    if (this.#status !== 'starting') throw new Error('a worker runs once; make another one');
    this.#status = 'running';
    const ended = new Promise<void>((resolve) => {
      this.#stopped = resolve;
    });
    const { signals, logger } = this.#settings;
    const letGo = signals
      ? onSignals(
          () => this.#stopBySignal(),
          () => this.#hurry.abort(),
        )
      : () => undefined;
    const pulse = this.#startPulse();
    this.#keeper = this.#startKeeper();
    this.#features.ask(this.#transport);
    this.#warnAboutQueues();
    this.#pollers = [...this.#slots].map(([queue, slots]) => this.#startPoller(queue, slots));
    this.#events.emit({ type: 'polling' });
    logger.info(`worker ${this.#settings.name} polls ${[...this.#slots.keys()].join(', ')}`);
    await ended;
    clearInterval(pulse);
    letGo();
    if (this.#refused !== null) throw this.#refused;
    return this.#events.summary;
  }

  /**
   * Stops: asks for no more jobs, lets handlers finish within the time, aborts the rest and gives their jobs back.
   * Calling it twice is one stop.
   */
  stop({ timeout }: { readonly timeout?: Duration } = {}): Promise<void> {
    const limitMs = timeout === undefined ? this.#settings.shutdownMs : milliseconds(timeout);
    this.#stopping ??= this.#status === 'starting' ? this.#neverRan() : this.#stop(limitMs);
    return this.#stopping;
  }

  #stopBySignal(): void {
    const { size } = this.#jobs;
    if (size > 0) {
      const jobs = size === 1 ? '1 job' : `${size} jobs`;
      this.#settings.logger.info(`finishing ${jobs}; press Ctrl-C again to give ${size === 1 ? 'it' : 'them'} back`);
    }
    void this.stop();
  }

  async #neverRan(): Promise<void> {
    this.#status = 'stopped';
  }

  async #stop(limitMs: number): Promise<void> {
    const startedAt = monotonicMs();
    this.#status = 'draining';
    this.#events.emit({ type: 'draining' });
    for (const slots of this.#slots.values()) slots.wake();
    const polls = Promise.all(this.#pollers.map((poller) => poller.stop(POLL_GRACE_MS)));
    const drained = polls.then(() => this.#drained());
    await this.#within(limitMs, drained);
    await this.#hangUp(polls);
    if (!this.#isDone()) {
      this.#runner.abortAll();
      await this.#within(ABORT_GRACE_MS, drained);
    }
    if (!this.#isDone()) {
      this.#runner.releaseAll();
      this.#reporter.hurry();
      await Promise.race([this.#reporter.drained(), pause(LAST_REPORTS_MS)]);
    }
    this.#logs.close();
    await this.#keeper?.close();
    this.#status = 'stopped';
    const left = this.#runner.running;
    if (left > 0) this.#settings.logger.warn(`${left} handlers go on although the worker has stopped`);
    this.#events.emit({ type: 'stopped', ms: monotonicMs() - startedAt });
    this.#stopped();
  }

  /** No poll may be open when jobs are given back: this worker would be the first to get them again. */
  async #hangUp(polls: Promise<unknown>): Promise<void> {
    const isOpen = await Promise.race([polls.then(() => false), pause(0).then(() => true)]);
    if (!isOpen) return;
    for (const poller of this.#pollers) poller.hangUp();
    await polls;
    // The server needs a moment to notice.
    await pause(HUNG_UP_MS);
  }

  /** Waits, but not longer than the limit, and not after a second signal. */
  async #within(limitMs: number, done: Promise<unknown>): Promise<void> {
    const over = new AbortController();
    const end = (): void => over.abort();
    this.#hurry.signal.addEventListener('abort', end, { once: true });
    if (this.#hurry.signal.aborted) end();
    await Promise.race([done, pause(limitMs, over.signal)]);
    end();
  }

  #isDone(): boolean {
    return this.#runner.running === 0 && this.#jobs.size === 0;
  }

  /** Resolves when no handler runs and no report waits. */
  async #drained(): Promise<void> {
    while (!this.#isDone()) {
      await Promise.race([...this.#slots.values()].map((slots) => slots.changed()));
    }
  }

  #startPoller(queue: string, slots: Slots): Poller {
    const { leaseSecs, pollSecs, name, logger, handlers } = this.#settings;
    // A list that leaves out some would say that they are not known.
    const tasks = handlers.size <= LEASE_MAX_TASKS ? { tasks: [...handlers.keys()] } : {};
    return new Poller({
      queue,
      transport: this.#transport,
      logger,
      leaseSecs,
      pollSecs,
      name,
      offer: { slots: slots.count, ...tasks },
      free: () => slots.free,
      slotFreed: () => slots.changed(),
      onPoll: () => {
        this.#lastPollAt = new Date();
      },
      onClaimed: (claimed) => {
        // Unstarted jobs go back for free if the server can do that; otherwise a retry is worth more than a moment.
        const isFree = this.#features.has('release');
        if (this.#status === 'draining' && isFree) this.#runner.giveBack(claimed, slots);
        else this.#runner.start(claimed, slots);
      },
      onRefused: (error) => {
        this.#refused ??= error;
        logger.error(`the server does not accept the worker's token: ${error.message}`);
        void this.stop();
      },
    });
  }

  #startKeeper(): Keeper {
    const { connection, leaseSecs, keeper } = this.#settings;
    const options = {
      connection,
      features: this.#features,
      cells: this.#jobs.cells,
      leaseSecs,
      onLost: this.#runner.lose.bind(this.#runner),
    };
    if (keeper === 'inline') return startInlineKeeper(options);
    return startThreadKeeper(options);
  }

  /** Tells the keeper that this thread is alive, and the program when it was not. */
  #startPulse(): NodeJS.Timeout {
    const { cells } = this.#jobs;
    cells.beatPulse(monotonicMs());
    return setInterval(() => {
      const now = monotonicMs();
      const stalledMs = now - cells.pulseMs() - PULSE_MS;
      cells.beatPulse(now);
      if (stalledMs <= (this.#settings.leaseSecs * 1_000) / 2) return;
      this.#events.emit({ type: 'stalled', ms: stalledMs });
      this.#settings.logger.warn(`the event loop was blocked for ${(stalledMs / 1_000).toFixed(1)} s`);
    }, PULSE_MS);
  }

  #warnAboutQueues(): void {
    for (const { task, queue, batch } of this.#settings.handlers.values()) {
      const slots = this.#slots.get(queue)?.count;
      if (slots === undefined) {
        this.#settings.logger.warn(`${task} goes to the queue ${queue}, which this worker does not poll`);
      } else if (batch !== undefined && batch.size > slots) {
        this.#settings.logger.warn(
          `${task} takes batches of up to ${batch.size}, but the queue ${queue} has ${slots} slots here`,
        );
      }
    }
  }
}
