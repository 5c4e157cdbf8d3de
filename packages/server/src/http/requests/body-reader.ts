import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { invalidRequest, MillraceError } from '../../domain/errors.js';
import type { Metrics } from '../../telemetry/metrics.js';
import { refuseRest } from '../access/admission.js';
import '../types.js';

/**
 * Reads request bodies into memory. A body that says how long it is has been paid for when its request was admitted;
 * any other is paid for as it arrives (access/admission.ts).
 *
 * Invariant: a request holds about as much memory as it has paid for. What arrives is copied: kept in the pieces in
 * which it came, a body that comes byte by byte would take up hundreds of times its length.
 */
const MIN_BLOCK_BYTES = 1024;
const MAX_BLOCK_BYTES = 64 * 1024;

/** Each piece takes time, however small it is: a body of the largest size in so many would have 256 bytes in each. */
const MAX_PIECES = 65_536;

const NOTHING = Buffer.alloc(0);

type Done = (error: Error | null, bytes: Buffer | null) => void;

/** Requests whose body was not read to its end: there was no room for it, or it took too much time. */
const cutOff = new WeakSet<IncomingMessage>();

export const wasCutOff = (raw: IncomingMessage): boolean => cutOff.has(raw);

export function readBody(request: FastifyRequest, body: IncomingMessage, metrics: Metrics, done: Done): void {
  const { raw } = request;
  const { bodyLimit } = request.routeOptions;
  const length = raw.headers['content-length'];
  if (length !== undefined && Number(length) > bodyLimit) return done(tooLarge(), null);
  const bytes = length === undefined ? new GrowingBytes() : new BytesOfLength(Number(length));

  const stop = (error: Error | null, read: Buffer | null): void => {
    body.off('data', take).off('end', finish).off('error', fail);
    done(error, read);
  };
  let pieces = 0;
  const take = (chunk: Buffer): void => {
    const { received } = bytes;
    pieces += 1;
    if (pieces > MAX_PIECES) {
      cutOff.add(raw);
      return stop(invalidRequest('the request body arrives in too many pieces'), null);
    }
    if (received + chunk.length > bodyLimit) return stop(tooLarge(), null);
    if (request.admitted?.hold(received + chunk.length) === false) {
      cutOff.add(raw);
      return stop(refuseRest(request, metrics), null);
    }
    bytes.add(chunk);
  };
  const finish = (): void => {
    const read = bytes.all();
    stop(read === null ? wrongLength() : null, read);
  };
  const fail = (cause: Error): void => stop(unreadable(cause), null);
  body.on('data', take).on('end', finish).on('error', fail);
}

/** As many bytes as were announced: they need no second copy when all have arrived. */
class BytesOfLength {
  received = 0;
  readonly #bytes: Buffer;

  constructor(length: number) {
    this.#bytes = Buffer.allocUnsafe(length);
  }

  add(chunk: Buffer): void {
    chunk.copy(this.#bytes, this.received);
    this.received += chunk.length;
  }

  /** Null: there were more or fewer. */
  all(): Buffer | null {
    return this.received === this.#bytes.length ? this.#bytes : null;
  }
}

class GrowingBytes {
  received = 0;
  readonly #full: Buffer[] = [];
  #block = NOTHING;
  #used = 0;
  #held = 0;

  add(chunk: Buffer): void {
    this.received += chunk.length;
    let taken = 0;
    while (taken < chunk.length) {
      if (this.#used === this.#block.length) this.#nextBlock();
      const copied = chunk.copy(this.#block, this.#used, taken);
      this.#used += copied;
      taken += copied;
    }
  }

  all(): Buffer {
    return Buffer.concat([...this.#full, this.#block.subarray(0, this.#used)]);
  }

  #nextBlock(): void {
    if (this.#used > 0) this.#full.push(this.#block);
    // As large as all before it: there is never much more than has arrived.
    const size = Math.min(Math.max(MIN_BLOCK_BYTES, this.#held), MAX_BLOCK_BYTES);
    this.#block = Buffer.allocUnsafeSlow(size);
    this.#held += size;
    this.#used = 0;
  }
}

const tooLarge = (): Error =>
  new MillraceError('payload_too_large', 'the request body is larger than this server accepts');

const wrongLength = (): Error =>
  invalidRequest('the request body does not have the length that Content-Length declares');

const unreadable = (cause: Error): Error =>
  new MillraceError('invalid_request', 'the request could not be read', undefined, { cause });
