import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type pg from 'pg';
import type { Database } from './database.js';
import { loadStatements } from '../sql.js';
import { socketOf } from './driver-socket.js';

/**
 * News between processes, over LISTEN/NOTIFY. Best effort by design: every waiter also polls every few seconds, so a
 * lost message costs time, never a job.
 *
 * NOTIFY takes a lock at commit that all notifying transactions queue for, so a NOTIFY in every insert would be the
 * bottleneck of the whole service. Instead, news is gathered and sent at most once per GATHER_MS, in a separate
 * statement after the commit.
 */
export interface PriorityNews {
  readonly priority: number;
  /** Set when a job sorts earlier in its priority than "now": its scheduled time, in milliseconds since 1970. */
  readonly since: number | null;
}

export interface News {
  /** Jobs were put on these queues. */
  readonly queues: ReadonlyMap<string, readonly PriorityNews[]>;
  /** Claims of these queues may get through again: what they found full has room, or has other settings. */
  readonly opened?: readonly string[];
  /** Transitions of watched jobs were written. */
  readonly events: boolean;
  /**
   * The earliest occurrence of a schedule that was created or resumed, in milliseconds since 1970. The statement that
   * creates or resumes it also sends this.
   */
  readonly crons: number | null;
}

const CHANNEL = 'millrace';
const GATHER_MS = 20;
const RECONNECT_MS = [50, 250, 1_000, 3_000];
const PING_MS = 10_000;
/** PostgreSQL limits a notification to less than 8000 bytes; what does not fit goes into the next one. */
const MAX_BYTES = 7_000;

interface Message {
  /** Absent if a statement sent the news itself: then it is news for the sending process too. */
  readonly from?: string;
  readonly q?: readonly (readonly [queue: string, ...priorities: (readonly [number, number | null])[]])[];
  readonly o?: readonly string[];
  readonly e?: 1;
  readonly c?: number;
}

const sql = loadStatements('store/notifications.sql');

export class Notifications {
  readonly #self = randomUUID();
  #queues = new Map<string, Map<number, number | null>>();
  #opened = new Set<string>();
  #events = false;
  #timer: NodeJS.Timeout | null = null;
  #sentAt = 0;
  #client: pg.Client | null = null;
  #stopped = false;
  #reconnect: NodeJS.Timeout | null = null;
  #ping: NodeJS.Timeout | null = null;

  constructor(
    private readonly db: Database,
    private readonly logger: Logger,
    private readonly receive: (news: News) => void,
    /** The connection is up (again): anything sent in the meantime was missed. */
    private readonly caughtUp: () => void,
  ) {}

  async start(): Promise<void> {
    await this.#connect(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of [this.#timer, this.#reconnect, this.#ping]) if (timer) clearTimeout(timer);
    if (this.#timer) await this.#send();
    await this.#client?.end().catch(() => undefined);
  }

  get listening(): boolean {
    return this.#client !== null;
  }

  publishWork(queue: string, priority: number, since: number | null): void {
    let priorities = this.#queues.get(queue);
    if (!priorities) this.#queues.set(queue, (priorities = new Map<number, number | null>()));
    const known = priorities.get(priority);
    if (known === undefined || (since !== null && (known === null || since < known))) priorities.set(priority, since);
    this.#arm();
  }

  publishOpening(queue: string): void {
    this.#opened.add(queue);
    this.#arm();
  }

  publishEvents(): void {
    this.#events = true;
    this.#arm();
  }

  #arm(): void {
    if (this.#timer || this.#stopped) return;
    // The first message after a pause is sent at once; only what follows closely is gathered.
    const waitMs = Math.max(0, this.#sentAt + GATHER_MS - performance.now());
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#sentAt = performance.now();
      void this.#send();
    }, waitMs);
  }

  async #send(): Promise<void> {
    const messages = this.#take();
    try {
      for (const message of messages) await this.db.run(sql.notify({ message }));
    } catch (error) {
      this.logger.debug({ err: error }, 'could not notify other processes; they will find the work by polling');
    }
  }

  #take(): string[] {
    const entries: NonNullable<Message['q']>[number][] = [...this.#queues].map(([queue, priorities]) => [
      queue,
      ...priorities,
    ]);
    const opened = [...this.#opened];
    const e = this.#events && ({ e: 1 } as const);
    this.#queues = new Map();
    this.#opened = new Set();
    this.#events = false;
    // The entry of a queue with hundreds of priorities does not fit; its name alone makes the receivers check every
    // priority.
    const short = entries.map((entry) => (sizeOf(entry) > MAX_BYTES ? ([entry[0]] as const) : entry));
    if (sizeOf(short) + sizeOf(opened) <= MAX_BYTES)
      return [this.#encode({ q: short, ...(opened.length > 0 && { o: opened }), ...e })];
    const parts = [...fitting(short).map((q) => ({ q })), ...fitting(opened).map((o) => ({ o })), ...(e ? [e] : [])];
    return parts.map((part) => this.#encode(part));
  }

  #encode(body: Omit<Message, 'from'>): string {
    return JSON.stringify({ from: this.#self, ...body });
  }

  #hear(payload: string | undefined): void {
    const heard = decode(payload);
    if (heard && heard.from !== this.#self) this.#tell(() => this.receive(heard.news));
  }

  /** A listener that fails has a bug; the connection has none, and others are to go on hearing. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.logger.error({ err: error }, 'news from other processes could not be passed on');
    }
  }

  async #connect(attempt: number): Promise<void> {
    if (this.#stopped) return;
    const client = await this.#listen().catch((error: unknown) => {
      this.logger.debug({ err: error }, 'cannot listen for notifications; trying again');
      return null;
    });
    if (this.#stopped) return client?.end().catch(() => undefined);
    if (client === null) {
      const wait = RECONNECT_MS[Math.min(attempt, RECONNECT_MS.length - 1)];
      this.#reconnect = setTimeout(() => void this.#connect(attempt + 1), wait);
      return;
    }
    this.#client = client;
    this.#ping = setTimeout(() => this.#check(client), PING_MS);
    this.#tell(this.caughtUp);
  }

  async #listen(): Promise<pg.Client> {
    const client = await this.db.openListener();
    try {
      const lost = () => this.#lost(client);
      client.on('error', lost);
      client.on('end', lost);
      client.on('notification', (message) => this.#hear(message.payload));
      await client.query(`LISTEN ${CHANNEL}`);
      return client;
    } catch (error) {
      socketOf(client).destroy();
      throw error;
    }
  }

  /** Only a query reveals that the server vanished without closing the connection. */
  #check(client: pg.Client): void {
    const silent = setTimeout(() => this.#lost(client), PING_MS / 2);
    client.query('SELECT').then(
      () => {
        clearTimeout(silent);
        if (!this.#stopped) this.#ping = setTimeout(() => this.#check(client), PING_MS);
      },
      () => {
        clearTimeout(silent);
        this.#lost(client);
      },
    );
  }

  #lost(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = null;
    if (this.#ping) clearTimeout(this.#ping);
    socketOf(client).destroy();
    if (!this.#stopped) void this.#connect(0);
  }
}

const sizeOf = (item: unknown): number => Buffer.byteLength(JSON.stringify(item));

/** As many of them at a time as one message takes. */
function fitting<T>(items: readonly T[]): T[][] {
  const parts: T[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const size = sizeOf(item);
    if (bytes + size > MAX_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)!.push(item);
    bytes += size;
  }
  return parts;
}

/** Returns null for messages that are not ours: anyone who can connect to the database can send on any channel. */
function decode(payload: string | undefined): { readonly from: string | undefined; readonly news: News } | null {
  try {
    const { from, q = [], o = [], e, c } = JSON.parse(payload ?? '') as Message;
    const queues = q.map(([queue, ...priorities]) => {
      return [queue, priorities.map(([priority, since]) => ({ priority, since }))] as const;
    });
    return {
      from,
      news: {
        queues: new Map(queues),
        opened: o.map(String),
        events: e === 1,
        crons: typeof c === 'number' ? c : null,
      },
    };
  } catch {
    return null;
  }
}
