import { KEPT_NAMES_MAX, type ReplayRequest } from '@millrace/contract';
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { invalidField } from '../../domain/errors.js';

/** For a body that may be left out: nothing of it is needed. */
export function bodyOrNone(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  request.body ??= {};
  done();
}

/** The body of a request that copies a job, which may be empty. Runs before the validator, as `boundNames` says. */
export function replayBody(request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void {
  request.body ??= {} satisfies ReplayRequest;
  boundNames(request, reply, done);
}

/** Runs before the validator checks each name: the validator reports every problem, and this bounds their number. */
export function boundNames(request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void {
  const { keep_checkpoints: names } = (request.body ?? {}) as { keep_checkpoints?: unknown };
  if (!Array.isArray(names) || names.length <= KEPT_NAMES_MAX) return done();
  done(invalidField('keep_checkpoints', `must have at most ${KEPT_NAMES_MAX} items`));
}
