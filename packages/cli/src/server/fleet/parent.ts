import cluster, { type Worker } from 'node:cluster';
import { fileURLToPath } from 'node:url';
import type { CredentialSet, Fleet, FleetMember, Logger } from '@millrace/server';
import { MemberFailure } from './member-failure.js';
import type { Answer, Cells, Order, Question, Report } from './messages.js';
import { afterCrash, type Decision } from './restarts.js';

/**
 * The parent of --processes: it serves no request and holds no job. It starts the processes, hands out the connections
 * that arrive on the port of the API in turn (node:cluster does that), and starts those again that end unexpectedly.
 *
 * A place is one of the N; in each, one process at a time: starting -> serving -> ended, then again. Places fill one
 * after another only the first time: the first process migrates the database, and fails for all if it cannot start.
 * Once `stopping`, nothing is started any more. `over` resolves once, when the parent gives up. A parent that exits
 * takes them along, whatever they do (member.ts).
 */
export interface FleetOptions {
  readonly count: number;
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  /** The credentials that are valid now, and that a process starts with. */
  readonly credentials: () => CredentialSet;
  /** Called when a process has ended unexpectedly, and will be started again. */
  readonly onRestart: (id: number) => void;
}

interface Place {
  readonly index: number;
  failures: number;
  servedSince: number;
  process: Worker | null;
  serving: boolean;
  timer: NodeJS.Timeout | null;
}

const PROGRAM = fileURLToPath(new URL('./member.js', import.meta.url));
/** A probe or a scrape does not wait longer for a process that is stuck. */
const ANSWER_MS = 5_000;
/** How much longer than --shutdown-secs a process may take to stop before it is killed. */
const STOP_EXTRA_MS = 15_000;

export class ProcessFleet implements Fleet {
  readonly #places: Place[];
  readonly #waiting = new Map<number, (answer: Answer | null) => void>();
  readonly over: Promise<void>;
  #giveUp: () => void = () => undefined;
  #stopping = false;
  #lastId = 0;

  constructor(private readonly options: FleetOptions) {
    this.#places = Array.from({ length: options.count }, (_, index) => ({
      index,
      failures: 0,
      servedSince: 0,
      process: null,
      serving: false,
      timer: null,
    }));
    this.over = new Promise((resolve) => (this.#giveUp = resolve));
    cluster.schedulingPolicy = cluster.SCHED_RR;
    // Advanced: credentials are maps and sets.
    cluster.setupPrimary({ exec: PROGRAM, args: [...options.argv], serialization: 'advanced' });
  }

  /** Resolves to the address of the API, null in worker mode, once all of them serve. */
  async start(): Promise<string | null> {
    const [first, ...others] = this.#places;
    const apiUrl = first === undefined ? null : await this.#launch(first);
    await Promise.all(others.map((place) => this.#launch(place)));
    return apiUrl;
  }

  members(): readonly FleetMember[] {
    return this.#serving().map((worker) => ({
      id: worker.id,
      snapshot: async ({ withDatabase }) => {
        const answer = await this.#ask(worker, { kind: 'snapshot', withDatabase });
        return answer !== null && 'snapshot' in answer ? answer.snapshot : null;
      },
    }));
  }

  async ready(): Promise<boolean> {
    if (this.#stopping) return false;
    return (await this.#states()).some(({ ready }) => ready);
  }

  async cells(): Promise<Cells> {
    const seen = (await this.#states()).flatMap(({ cells }) => cells ?? []);
    const names = [...new Set(seen.map(({ name }) => name))];
    const isUp = (name: string): boolean => seen.every((cell) => cell.name !== name || cell.up);
    return names.length === 0 ? undefined : names.map((name) => ({ name, up: isUp(name) }));
  }

  async #states(): Promise<Extract<Answer, { readonly ready: boolean }>[]> {
    const answers = await Promise.all(this.#serving().map((worker) => this.#ask(worker, { kind: 'ready' })));
    return answers.flatMap((answer) => (answer !== null && 'ready' in answer ? [answer] : []));
  }

  /** Lets all of them finish what is in flight. Resolves to whether all did. */
  async stop(shutdownMs: number): Promise<boolean> {
    this.#stopping = true;
    for (const place of this.#places) if (place.timer !== null) clearTimeout(place.timer);
    const ends = this.#running().map(async (worker) => {
      const timer = setTimeout(() => worker.process.kill('SIGKILL'), shutdownMs + STOP_EXTRA_MS);
      const ended = new Promise<boolean>((resolve) =>
        worker.once('exit', (code: number | null) => resolve(code === 0)),
      );
      this.#send(worker, { kind: 'stop' });
      return ended.finally(() => clearTimeout(timer));
    });
    return (await Promise.all(ends)).every(Boolean);
  }

  /** Gives all of them the credentials that are valid now. */
  handOutCredentials(): void {
    for (const worker of this.#running()) this.#handCredentials(worker);
  }

  /** Each reads the list itself, and says whether it can use it. */
  reloadCells(): void {
    for (const worker of this.#serving()) this.#send(worker, { kind: 'cells' });
  }

  #handCredentials(worker: Worker): void {
    this.#send(worker, { kind: 'credentials', set: this.options.credentials() });
  }

  #running(): readonly Worker[] {
    return this.#places.flatMap(({ process }) => (process === null ? [] : [process]));
  }

  #serving(): readonly Worker[] {
    return this.#places.flatMap(({ process, serving }) => (process !== null && serving ? [process] : []));
  }

  /** Resolves when the process serves; rejects if it ends before that. */
  #launch(place: Place): Promise<string | null> {
    const worker = cluster.fork(this.options.env);
    place.process = worker;
    return new Promise((resolve, reject) => {
      let failure: MemberFailure | null = null;
      worker.on('message', (report: Report) => {
        switch (report.kind) {
          case 'started':
            // A stop that was sent before may have come too early to be heard.
            return this.#stopping ? this.#send(worker, { kind: 'stop' }) : this.#handCredentials(worker);
          case 'serving':
            place.serving = true;
            place.servedSince = performance.now();
            return resolve(report.apiUrl);
          case 'failed':
            failure = new MemberFailure(report.message, report.exitCode);
            return;
          case 'answer':
            return this.#waiting.get(report.id)?.(report.answer);
        }
      });
      worker.on('error', (error) =>
        this.options.logger.warn({ err: error, process: worker.process.pid }, 'no channel'),
      );
      worker.once('exit', (code: number | null, signal: string | null) => {
        const { serving } = place;
        Object.assign(place, { process: null, serving: false });
        const how = { process: worker.process.pid, code, signal, ...(failure && { reason: failure.message }) };
        if (!serving)
          reject(failure ?? new MemberFailure(`a process ended while it was starting (${code ?? signal})`, 1));
        if (serving && !this.#stopping) this.#replace(place, worker.id, how);
      });
    });
  }

  #replace(place: Place, id: number, how: object): void {
    const decision = afterCrash(performance.now() - place.servedSince, place.failures);
    this.#act(decision, place, how, () => this.options.onRestart(id));
  }

  #act(decision: Decision, place: Place, how: object, onRestart: () => void): void {
    const { logger } = this.options;
    if (decision.kind === 'give-up') {
      logger.fatal(how, 'processes end again and again right after their start; giving up');
      return this.#giveUp();
    }
    logger.error({ ...how, delayMs: decision.delayMs }, 'a process ended unexpectedly; starting another');
    place.failures = decision.failures;
    onRestart();
    place.timer = setTimeout(() => {
      place.timer = null;
      this.#launch(place).catch((error: unknown) => this.#failedAgain(place, error));
    }, decision.delayMs);
  }

  /** The replacement ended before it served. */
  #failedAgain(place: Place, error: unknown): void {
    if (this.#stopping) return;
    const decision = afterCrash(0, place.failures);
    this.#act(decision, place, { reason: (error as Error).message }, () => undefined);
  }

  #ask(worker: Worker, question: Question): Promise<Answer | null> {
    const id = ++this.#lastId;
    return new Promise((resolve) => {
      const settle = (answer: Answer | null): void => {
        clearTimeout(timer);
        worker.off('exit', gone);
        this.#waiting.delete(id);
        resolve(answer);
      };
      const gone = (): void => settle(null);
      const timer = setTimeout(gone, ANSWER_MS);
      worker.once('exit', gone);
      this.#waiting.set(id, settle);
      this.#send(worker, { ...question, id });
    });
  }

  /** A process that has just ended cannot be told anything, and need not be. */
  #send(worker: Worker, order: Order): void {
    if (worker.isConnected()) worker.send(order, () => undefined);
  }
}
