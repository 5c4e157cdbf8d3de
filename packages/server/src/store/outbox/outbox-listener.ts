import type { Logger } from 'pino';
import type pg from 'pg';
import { socketOf } from '../connection/driver-socket.js';
import type { OutboxDatabase } from './outbox-database.js';

/**
 * Hears of new entries. Best effort: a relay looks by itself too. Whether notifications arrive at all is tried out with
 * one to ourselves: a pooler in transaction mode takes a LISTEN and delivers nothing.
 *
 * states: away → connected → hearing, and back to away whenever the connection breaks.
 */
const CHANNEL = 'millrace_outbox';
const RECONNECT_MS = [100, 500, 2_000, 5_000];
const PING_MS = 10_000;

export class OutboxListener {
  #client: pg.Client | null = null;
  #hears = false;
  #attempt = 0;
  #timer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(
    private readonly db: OutboxDatabase,
    /** The name of this relay, which it calls itself by. */
    private readonly relay: string,
    private readonly logger: Logger,
    /** There may be entries. */
    private readonly hear: () => void,
  ) {}

  /** Whether a notification would arrive. */
  get hears(): boolean {
    return this.#hears;
  }

  start(): void {
    void this.#connect();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<void> {
    try {
      const client = await this.db.openListener();
      if (this.#stopped) return void (await client.end());
      this.#client = client;
      const lost = (): void => this.#lost(client);
      client.on('error', lost);
      client.on('end', lost);
      client.on('notification', ({ payload }) => this.#received(payload ?? ''));
      await client.query(`LISTEN ${CHANNEL}`);
      this.#attempt = 0;
      await this.db.run('ring', { relay: this.relay });
      this.#timer = setTimeout(() => this.#ping(client), PING_MS);
    } catch (error) {
      this.logger.debug({ err: error }, "cannot listen in the application's database; trying again");
      if (this.#client !== null) this.#lost(this.#client);
      else this.#later();
    }
  }

  /** Others call their own names; entries come without one. */
  #received(payload: string): void {
    if (payload === this.relay) this.#hears = true;
    if (payload === this.relay || payload === '') this.hear();
  }

  /** Only a query reveals that the server vanished without closing the connection. */
  #ping(client: pg.Client): void {
    const silent = setTimeout(() => this.#lost(client), PING_MS / 2);
    client.query('SELECT').then(
      () => {
        clearTimeout(silent);
        if (this.#client === client) this.#timer = setTimeout(() => this.#ping(client), PING_MS);
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
    this.#hears = false;
    socketOf(client).destroy();
    this.#later();
  }

  #later(): void {
    if (this.#stopped) return;
    if (this.#timer) clearTimeout(this.#timer);
    const wait = RECONNECT_MS[Math.min(this.#attempt++, RECONNECT_MS.length - 1)];
    this.#timer = setTimeout(() => void this.#connect(), wait);
  }
}
