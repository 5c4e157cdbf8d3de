import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  addProcessFile,
  liveProcessFiles,
  newProcessFileId,
  removeProcessFile,
  type ProcessFile,
} from './process-files.js';

/**
 * One process at a time changes the state of an embedded database (initialise, start, stop).
 *
 * Node has no lock that the kernel releases when its holder is killed, and a lock file that several waiters may judge
 * stale at once is itself a race. So this is Lamport's bakery: every process draws a number one above all those it sees
 * and waits for the lower ones. Every file belongs to one process for good (members.ts), so the ticket of a dead
 * process simply does not count, and nobody has to take it over.
 *
 *   draw     add "choosing"; read all tickets; add a ticket one above the highest; remove "choosing"
 *   wait     until nobody else is choosing, then until no live ticket comes before ours
 *   release  remove the ticket
 *
 * If two draw the same number, the file id decides. The order of the two waits matters: once we have seen nobody
 * choosing, whoever starts to choose later sees our ticket, and we see the ticket of whoever finished before.
 */
const POLL_MS = 25;

export interface LockOptions {
  /** Called once if the lock is not free immediately. */
  readonly onWait?: () => void;
}

export async function withLock<T>(dir: string, body: () => Promise<T>, { onWait }: LockOptions = {}): Promise<T> {
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const ticket = draw(dir);
  try {
    await turn(dir, ticket, onWait);
    return await body();
  } finally {
    removeProcessFile(dir, ticket.name);
  }
}

interface Ticket {
  readonly name: string;
  readonly number: number;
}

function draw(dir: string): Ticket {
  const id = newProcessFileId();
  const choosing = addProcessFile(dir, id, 'choosing');
  try {
    const number = 1 + Math.max(0, ...tickets(dir).map((ticket) => ticket.number));
    return { name: addProcessFile(dir, id, `${number}`), number };
  } finally {
    removeProcessFile(dir, choosing);
  }
}

async function turn(dir: string, ownTicket: Ticket, onWait: (() => void) | undefined): Promise<void> {
  let waited = false;
  const wait = async (): Promise<void> => {
    if (!waited) onWait?.();
    waited = true;
    await sleep(POLL_MS);
  };
  // Those who were choosing when we drew. Later ones will queue behind us and need not be waited for.
  const choosing = new Set(
    liveProcessFiles(dir)
      .filter(isChoosing)
      .map(({ name }) => name),
  );
  while (liveProcessFiles(dir).some(({ name }) => choosing.has(name))) await wait();
  while (tickets(dir).some((ticket) => before(ticket, ownTicket))) await wait();
}

const isChoosing = (file: ProcessFile): boolean => file.role === 'choosing';

const tickets = (dir: string): readonly Ticket[] =>
  liveProcessFiles(dir)
    .filter((file) => !isChoosing(file))
    .map(({ name, role }) => ({ name, number: Number(role) }));

const before = (a: Ticket, b: Ticket): boolean => a.number < b.number || (a.number === b.number && a.name < b.name);
