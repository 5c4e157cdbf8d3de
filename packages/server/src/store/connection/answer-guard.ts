import type pg from 'pg';
import { socketOf } from './driver-socket.js';
import { UnreadableAnswer } from '../failures.js';

/**
 * The driver reads answers in the data handler of its socket, where nothing catches what is thrown: a text longer than
 * V8's longest string, or a value that its parser cannot read, would end the process. Here it ends only the connection.
 * What follows the unreadable part can no longer be matched to a statement, so we destroy the socket with the error,
 * and the driver passes that on to the waiting statement.
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
