import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { COUNTED_BYTES, type AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';

/**
 * Answers that their clients do not read. access/answer-room.ts bounds them in memory, and this file bounds them in
 * time: an answer of which nothing is taken for a while is cut off.
 */

/** A client that takes nothing for this long is not coming back for its answer. */
export const UNREAD_MS = 30_000;

/** Counts every large answer from when it is sent until it has been taken. */
export function registerUnreadAnswers(app: FastifyInstance, context: HttpContext): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!(payload instanceof Buffer) || payload.length < COUNTED_BYTES) return done();
    // Only reads are refused: other answers report what has been done, so they must be sent.
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

const isRead = ({ method, routeOptions }: FastifyRequest): boolean =>
  method === 'GET' || method === 'HEAD' || routeOptions.config.reads === true;

/**
 * Gives the room back once the answer has been handed over or its connection is closed, and makes sure that one of the
 * two happens.
 */
export function holdUntilTaken(raw: ServerResponse, hold: AnswerHold, context: HttpContext): void {
  if (raw.destroyed) return hold.release();
  raw.once('close', () => hold.release());
  cutWhenUnread(raw, context);
}

/** For an answer that has begun or is about to begin. */
export function cutWhenUnread(raw: ServerResponse, { unreadMs, metrics }: HttpContext): void {
  const { socket } = raw.req;
  raw.on('timeout', () => {
    // There is nothing to take: the answer is waiting for the database.
    if (socket.writableLength === 0) return void socket.setTimeout(unreadMs);
    metrics.answersCut.inc();
    socket.destroy();
  });
  // The socket counts it as progress when any part of what it holds is taken. Between requests it has a different
  // timeout.
  socket.setTimeout(unreadMs);
}
