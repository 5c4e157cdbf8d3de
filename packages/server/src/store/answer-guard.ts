import type pg from 'pg';
import { socketOf } from './driver-socket.js';
import { UnreadableAnswer } from './failures.js';

/**
 * The driver reads answers in the data handler of its socket, where nobody catches what is thrown: a text beyond V8's
 * longest string, or a value that its parser cannot read, would end the process. Here it ends the connection. What
 * comes after the unreadable part belongs to nobody any more, so the socket is destroyed with the error, which the
 * driver hands to the statement that waits.
 */
export function guardAnswers(client: pg.ClientBase): void {
  const stream = socketOf(client);
  const readers = stream.listeners('data') as ((chunk: Buffer) => void)[];
  stream.removeAllListeners('data');
  stream.on('data', (chunk: Buffer) => {
    try {
      for (const read of readers) read(chunk);
    } catch (error) {
      stream.destroy(new UnreadableAnswer(error as Error));
    }
  });
}
