import { LOG_LINES_PER_CALL, type NewLogLine } from '@millrace/contract';
import type { FastifyRequest, preValidationHookHandler } from 'fastify';
import { leftOut, logLine } from '../../domain/log-lines.js';
import { rawFields, rawFieldsOfEach, rawItems } from '../../domain/raw-json.js';
import type { NewLogs } from '../../engine/api.js';

/** What handlers wrote, from what was sent to what the engine takes. Too much of it is cut, never refused. */

/** `text`: the list as it was sent, which may be longer than the one that was validated. */
export function newLogs(sent: readonly NewLogLine[] | null | undefined, text: string | undefined): NewLogs {
  const last = sent?.at(-1);
  if (!sent || last === undefined || text === undefined) return null;
  const fields = sent.some((line) => line.fields) ? rawFieldsOfEach(text, ['fields']) : [];
  const lines = sent.map((line, n) =>
    logLine(line.at, line.level, line.message, line.fields ? (fields[n]?.[0] ?? null) : null),
  );
  const surplus = sent.length < LOG_LINES_PER_CALL ? 0 : rawItems(text).length - LOG_LINES_PER_CALL;
  return surplus > 0 ? [...lines, leftOut(last.at, surplus)] : lines;
}

/** Of a body with nothing else that is taken as it was sent. */
export const textOfLogs = ({
  body,
  rawBody,
}: Pick<FastifyRequest<{ Body: unknown }>, 'body' | 'rawBody'>): string | undefined =>
  (body as { logs?: unknown }).logs ? rawFields(rawBody, ['logs'])[0] : undefined;

/** Before the validator, which would refuse a report for the lines that came with it. */
export const boundLogs: preValidationHookHandler = (request, _reply, done) => {
  cutLogs(request.body);
  done();
};

/** Of a body, or of an item of one; whatever that is. */
export function cutLogs(body: unknown): void {
  const { logs } = (body ?? {}) as { logs?: unknown };
  if (Array.isArray(logs) && logs.length > LOG_LINES_PER_CALL) logs.length = LOG_LINES_PER_CALL;
}
