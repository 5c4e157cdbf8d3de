import { createServer } from 'node:net';
import { close, listen } from '@millrace/tools-shared';

/** Below those that systems give to whoever asks for any port, which dozens of servers do while tests run. */
const [FIRST, LAST] = [20_000, 29_999];

/** A port on which nobody listens. It is for a program that needs a number, and may take it seconds later. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST + 1));
    const probe = createServer();
    try {
      await listen(probe, port);
      await close(probe);
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
}
