import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { OutboxDatabase } from '../store/outbox/outbox-database.js';
import { OutboxError } from '../store/outbox/outbox-error.js';
import { OutboxListener } from '../store/outbox/outbox-listener.js';
import { checkVersion, outboxGauge, type Gauge } from '../store/outbox/upkeep.js';
import { Claims, MOST_ENTRIES, type EntryClaim } from './claims.js';
import { Delivery } from './delivery.js';
import { Backoff } from './backoff.js';
import { HandledPruning } from './handled-pruning.js';
import type { Entry, KeyLives } from './one-by-one.js';
import { checkService } from './service-check.js';
import { ServiceClient, type ServiceOptions } from './service-client.js';
import type { Again, Refusal, Stop } from './verdict.js';

/**
 * Moves entries from the outbox of an application to the service.
 *
 * states: looking for the outbox → running → stopping → ended. It also ends by itself, with a reason, if what is wrong
 * does not pass: a token that is refused, an outbox that is not there. Whatever ends it, no entry is lost: what was
 * taken is delivered, refused, put back, or taken by another relay half a minute later.
 *
 * Invariants: at most FLIGHTS calls are in flight, each with what one claim took; no transaction is open during a call;
 * while the service or the database is away, pauses grow and nothing is held.
 */
export interface RelayOptions {
  /** The application's database. */
  readonly from: string;
  readonly service: ServiceOptions;
  readonly logger: Logger;
  readonly events?: RelayEvents;
}

/** For metrics. */
export interface RelayEvents {
  readonly relayed: (entries: number) => void;
  readonly refused: () => void;
}

/** Of these, one takes entries and some write down how a call ended: about four calls are out at any time. */
const FLIGHTS = 6;
/** Flights that wait for the service need none. One more listens. */
const CONNECTIONS = 4;

const POLL_MS = 5_000;
/** Where no notification arrives. */
const DEAF_POLL_MS = 1_000;
/** After work it looks again soon: an entry may have been written when nobody wanted to be told. */
const FIRST_REST_MS = 25;
const TOLD_SECS = 10;
const SAY_AGAIN_MS = 2_500;
/** A claim of so many is load, under which notifications would only slow the application down. */
const MANY = MOST_ENTRIES / 4;

const HOUR_MS = 3_600_000;

export class Relay {
  readonly #id = randomUUID();
  readonly #outbox: OutboxDatabase;
  readonly #service: ServiceClient;
  readonly #claims: Claims;
  readonly #delivery: Delivery;
  readonly #listener: OutboxListener;
  readonly #pruning: HandledPruning;
  readonly #pauses: Backoff;
  readonly #flights = new Set<Promise<void>>();
  readonly #logger: Logger;
  /** Whether the outbox has been found. */
  #found = false;
  #lives: KeyLives | null = null;
  #learnAt = 0;
  /** Whether the last claim took all that one can. */
  #plenty = false;
  #restMs = FIRST_REST_MS;
  #said: { readonly at: number; readonly wanted: boolean } = { at: -Infinity, wanted: false };
  #stopping = false;
  #failure: Error | null = null;
  #running: Promise<void> | null = null;
  #heard = false;
  #wake: (() => void) | null = null;

  constructor({ from, service, logger, events }: RelayOptions) {
    this.#logger = logger;
    this.#outbox = new OutboxDatabase(from, CONNECTIONS);
    this.#service = new ServiceClient(service);
    this.#claims = new Claims(this.#outbox);
    this.#pauses = new Backoff(logger);
    this.#delivery = new Delivery(this.#outbox, this.#service, {
      delivered: (entries) => events?.relayed(entries),
      refused: (entry, refusal) => {
        events?.refused();
        this.#noteRefusal(entry, refusal);
      },
    });
    this.#listener = new OutboxListener(this.#outbox, this.#id, logger, () => this.#rouse());
    this.#pruning = new HandledPruning(this.#outbox, (error) => this.#failed(error));
  }

  /**
   * Resolves once the outbox was found, or its database is out of reach: then the relay goes on looking.
   *
   * @throws if it cannot work
   */
  async start(): Promise<void> {
    const looked = this.#lookFirst();
    this.#running = looked.then(
      () => this.#run(),
      () => this.#close(),
    );
    await looked;
  }

  /** Ends with the calls that are in flight. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#pauses.end();
    this.#rouse();
    await this.#running;
  }

  /** Resolves when it has ended: null if it was stopped, otherwise why. */
  async ended(): Promise<Error | null> {
    await this.#running;
    return this.#failure;
  }

  /** Whether the last call and the last statement were answered. */
  get ready(): boolean {
    return this.#running !== null && !this.#stopping && this.#lives !== null && !this.#pauses.inForce;
  }

  gauge(): Promise<Gauge> {
    return outboxGauge(this.#outbox);
  }

  async #lookFirst(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      if (isPassing(error)) return this.#failed(error);
      this.#failure = error as Error;
      this.#stopping = true;
      throw error;
    }
  }

  async #look(): Promise<void> {
    await checkVersion(this.#outbox);
    this.#found = true;
    this.#pauses.worked('database');
    this.#listener.start();
    this.#pruning.start();
  }

  async #run(): Promise<void> {
    await this.#pauses.over();
    while (!this.#stopping) {
      try {
        await this.#round();
      } catch (error) {
        this.#failed(error);
      }
      await this.#pauses.over();
    }
    await Promise.all(this.#flights);
    await this.#outbox.run('leave', { relay: this.#id }).catch(() => undefined);
    await this.#close();
  }

  async #round(): Promise<void> {
    if (!this.#found) await this.#look();
    if (performance.now() >= this.#learnAt || this.#lives === null) await this.#learn();
    if (this.#lives === null) return;
    const lives = this.#lives;
    if (this.#flights.size >= FLIGHTS) return void (await Promise.race(this.#flights));
    // Where plenty waits, flights take their entries themselves, while others are sent.
    if (this.#plenty) return this.#launch(async () => this.#fly(await this.#take(), lives));
    const claim = await this.#take();
    if (claim === null) return this.#rest();
    this.#restMs = FIRST_REST_MS;
    if (claim.entries >= MANY) await this.#say(false);
    this.#launch(() => this.#fly(claim, lives));
  }

  async #take(): Promise<EntryClaim | null> {
    const claim = await this.#claims.take();
    this.#plenty = claim?.entries === MOST_ENTRIES;
    this.#pauses.worked('database');
    return claim;
  }

  #launch(fly: () => Promise<void>): void {
    const flight = fly()
      .catch((error: unknown) => {
        this.#plenty = false;
        this.#failed(error);
      })
      .finally(() => this.#flights.delete(flight));
    this.#flights.add(flight);
  }

  /** Who we are to the service, and how long it remembers keys: asked now and then, since both may change. */
  async #learn(): Promise<void> {
    const learnt = await checkService(this.#service);
    if ('kind' in learnt) return this.#halt(learnt);
    this.#lives = learnt;
    this.#learnAt = performance.now() + HOUR_MS;
    this.#pauses.worked('service');
  }

  async #fly(claim: EntryClaim | null, lives: KeyLives): Promise<void> {
    const end = claim && (await this.#delivery.deliver(claim, lives));
    if (end === null) return this.#pauses.worked('service');
    this.#plenty = false;
    this.#claims.rewind();
    this.#halt(end);
  }

  #halt(end: Again | Stop): void {
    if (end.kind === 'again') return this.#pauses.begin('service', end.reason, end.retryAfterMs ?? 0);
    this.#fail(new Error(`the service refuses this relay: ${end.reason}`));
  }

  #failed(error: unknown): void {
    if (isPassing(error)) return this.#pauses.begin('database', withCause(error), 0);
    this.#fail(error as Error);
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#logger.fatal({ err: error }, 'the relay stops; every entry is kept');
    this.#stopping = true;
    this.#pauses.end();
    this.#rouse();
  }

  async #rest(): Promise<void> {
    const hears = this.#listener.hears;
    // Whoever wrote before we said so told nobody: look once more.
    if (await this.#say(hears)) return;
    const untilWhole = this.#claims.wholeDueAt - performance.now();
    const restMs = Math.min(this.#restMs, hears ? POLL_MS : DEAF_POLL_MS, Math.max(FIRST_REST_MS, untilWhole));
    this.#restMs = Math.min(2 * this.#restMs, POLL_MS);
    await this.#sleep(restMs);
  }

  /** Whether we want to be told of entries. True: we do from now on. */
  async #say(wanted: boolean): Promise<boolean> {
    const { at, wanted: before } = this.#said;
    if (before === wanted && performance.now() < at + SAY_AGAIN_MS) return false;
    await this.#outbox.run('see', { relay: this.#id, told_secs: wanted ? TOLD_SECS : null });
    this.#said = { at: performance.now(), wanted };
    return wanted && !before;
  }

  #noteRefusal({ key, task }: Entry, { code, error }: Refusal): void {
    this.#logger.error(
      { key, task, code, reason: error },
      'the service refused an entry of the outbox; it is set aside',
    );
  }

  #rouse(): void {
    this.#heard = true;
    this.#restMs = FIRST_REST_MS;
    this.#wake?.();
  }

  /** Until something is heard, or for so long. */
  async #sleep(ms: number): Promise<void> {
    if (!this.#heard && !this.#stopping) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        this.#wake = () => (clearTimeout(timer), resolve());
      });
      this.#wake = null;
    }
    this.#heard = false;
  }

  async #close(): Promise<void> {
    await this.#pruning.stop();
    await this.#listener.stop();
    this.#service.close();
    await this.#outbox.end();
  }
}

const isPassing = (error: unknown): error is OutboxError => error instanceof OutboxError && !error.lasting;

/** A wrong password counts as an outage too: the line in the log has to say which of them it is. */
function withCause({ message, cause }: OutboxError): string {
  const reason = cause instanceof Error ? cause.message : '';
  return reason === '' || message.includes(reason) ? message : `${message}: ${reason}`;
}
