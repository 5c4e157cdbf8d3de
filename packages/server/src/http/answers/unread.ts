import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { COUNTED_BYTES, type AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';

/**
 * Answers that their clients do not read. They are bounded in memory by the room for answers (access/answer-room.ts),
 * and in time here: one of which nothing is taken for a while is cut off.
 */

/** A client that takes nothing for so long is not coming back for it. */
export const UNREAD_MS = 30_000;

/** Counts every large answer from when it is sent until it was taken. */
export function registerUnreadAnswers(app: FastifyInstance, context: HttpContext): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!(payload instanceof Buffer) || payload.length < COUNTED_BYTES) return done();
    // Only a read is refused: what other answers tell of is done, and has to be told.
    const { answers } = context;
    const hold = isRead(request)
      ? answers.tryHold(request.tenant, payload.length)
      : answers.hold(request.tenant, payload.length);
    if (hold === null) {
      context.metrics.requestsShed.inc({ load: 'answer' });
      return done(answers.refusal);
    }
    holdUntilTaken(reply.raw, hold, context);
    done();
  });
}

const isRead = ({ method }: FastifyRequest): boolean => method === 'GET' || method === 'HEAD';

/**
 * Gives the room back when the answer was handed over or its connection is gone, and sees to it that one of them
 * happens.
 */
export function holdUntilTaken(raw: ServerResponse, hold: AnswerHold, context: HttpContext): void {
  if (raw.destroyed) return hold.release();
  raw.once('close', () => hold.release());
  cutWhenUnread(raw, context);
}

/** For an answer that has begun or is about to. */
export function cutWhenUnread(raw: ServerResponse, { unreadMs, metrics }: HttpContext): void {
  const { socket } = raw.req;
  raw.on('timeout', () => {
    // Nothing to take: it is the database that takes its time.
    if (socket.writableLength === 0) return void socket.setTimeout(unreadMs);
    metrics.answersCut.inc();
    socket.destroy();
  });
  // The socket counts it as progress when anything of what it holds was taken. Between requests its timeout is another.
  socket.setTimeout(unreadMs);
}
