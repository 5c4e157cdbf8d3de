import { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';
import pinoPretty from 'pino-pretty';

/** Lines for people: time, level, message, then the fields. */
export function pretty(output: DestinationStream): DestinationStream {
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      output.write(chunk.toString());
      done();
    },
  });
  return pinoPretty({
    destination,
    sync: true,
    colorize: process.stdout.isTTY && !process.env.NO_COLOR,
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'pid',
    singleLine: true,
  });
}
