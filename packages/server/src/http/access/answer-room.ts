import { unavailable } from '../../domain/errors.js';

/**
 * Bounds the memory taken by answers that their clients have not read yet. admission.ts bounds requests, but a small
 * request can have a large answer, and the answers to a client that asks and never reads would pile up. So an answer
 * holds its bytes here until it has been handed to the operating system or its connection is closed.
 *
 * Each owner (a tenant; all workers together) gets at most a quarter of the room: an owner that does not read its
 * answers is refused, and the others are still served. A lone answer always fits, whatever its size.
 */
const ROOM_BYTES = 256 * 1024 * 1024;
const SHARE = 4;

/** How long a large page waits for room: other clients usually read theirs at once. */
const WAIT_MS = 5_000;
const MAX_WAITING = 1_000;

/** Smaller answers are not counted: on all connections together they take only a few megabytes. */
export const COUNTED_BYTES = 16 * 1024;

export interface AnswerHold {
  /** Changes how many bytes are held, up or down. */
  resize(bytes: number): void;
  /** Calling it again changes nothing. */
  release(): void;
}

interface Waiting {
  readonly owner: string;
  readonly bytes: number;
  readonly enter: (hold: AnswerHold) => void;
}

const UNREAD = unavailable('too many large answers are waiting to be read; read those first, or try again shortly');

export class AnswerRoom {
  readonly #held = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #total = 0;

  constructor(
    private readonly roomBytes = ROOM_BYTES,
    private readonly waitMs = WAIT_MS,
  ) {}

  get heldBytes(): number {
    return this.#total;
  }

  /** Null: there is no room. */
  tryHold(owner: string, bytes: number): AnswerHold | null {
    return this.#fits(owner, bytes) ? this.hold(owner, bytes) : null;
  }

  /**
   * Holds the bytes even if there is no room: for answers that must be sent, because they report what has been done.
   */
  hold(owner: string, bytes: number): AnswerHold {
    let held = 0;
    let released = false;
    const resize = (size: number): void => {
      if (released) return;
      this.#add(owner, size - held);
      held = size;
    };
    const release = (): void => {
      resize(0);
      released = true;
    };
    resize(bytes);
    return { resize, release };
  }

  /** Waits a moment for room, then refuses with 503. */
  waitToHold(owner: string, bytes: number): Promise<AnswerHold> {
    const hold = this.tryHold(owner, bytes);
    if (hold !== null) return Promise.resolve(hold);
    if (this.#waiting.size >= MAX_WAITING) return Promise.reject(UNREAD);
    return new Promise((resolve, reject) => {
      const enter = (hold: AnswerHold): void => {
        clearTimeout(timer);
        this.#waiting.delete(waiting);
        resolve(hold);
      };
      const waiting: Waiting = { owner, bytes, enter };
      const timer = setTimeout(() => {
        this.#waiting.delete(waiting);
        reject(UNREAD);
      }, this.waitMs);
      this.#waiting.add(waiting);
    });
  }

  /** The error for an answer that there is no room for. */
  get refusal(): Error {
    return UNREAD;
  }

  #fits(owner: string, bytes: number): boolean {
    const held = this.#held.get(owner) ?? 0;
    const ofOwner = held === 0 || held + bytes <= this.roomBytes / SHARE;
    return ofOwner && (this.#total === 0 || this.#total + bytes <= this.roomBytes);
  }

  #add(owner: string, bytes: number): void {
    const held = (this.#held.get(owner) ?? 0) + bytes;
    if (held === 0) this.#held.delete(owner);
    else this.#held.set(owner, held);
    this.#total += bytes;
    if (bytes >= 0) return;
    for (const { owner, bytes, enter } of this.#waiting) {
      if (this.#fits(owner, bytes)) enter(this.hold(owner, bytes));
    }
  }
}
