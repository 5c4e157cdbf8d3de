import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_PAGE_BYTES, type Page } from '../../engine/api.js';
import type { AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';
import { JSON_TYPE, sendJson, withWarnings } from './reply.js';
import { pageHead, pageJson, pageTail, type AppliedWindow } from './serialize.js';
import { holdUntilTaken } from './unread.js';

/** How the items of a page are shown. */
export interface PageFormat<T> {
  /** Where they stand in the answer. */
  readonly key: string;
  readonly itemJson: (item: T) => string;
}

/**
 * Answers with a page. Its large items are read from the database as the client takes them, so that one page never
 * stands in memory as a whole; what does is counted in the room for answers before it is read.
 */
export async function sendPage<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  page: Page<T>,
  applied: AppliedWindow,
  format: PageFormat<T>,
): Promise<FastifyReply> {
  if (page.rest === null) return sendJson(reply, 200, pageJson(format.key, page, applied, format.itemJson));
  reply.code(200).header('content-type', JSON_TYPE);
  // The answer to a HEAD has no body to be read for.
  if (request.method === 'HEAD') return reply.send();
  const hold = await context.answers.waitToHold(request.tenant, MAX_PAGE_BYTES);
  holdUntilTaken(reply.raw, hold, context);
  // One piece at a time: the next is made when this one was taken.
  return reply.send(Readable.from(pageTexts(request, page, applied, format, hold), { highWaterMark: 1 }));
}

async function* pageTexts<T>(
  request: FastifyRequest,
  page: Page<T>,
  applied: AppliedWindow,
  { key, itemJson }: PageFormat<T>,
  hold: AnswerHold,
): AsyncGenerator<string | Buffer> {
  let { nextCursor } = page;
  let separator = '';
  yield pageHead(key);
  for await (const part of withFirst(page)) {
    ({ nextCursor } = part);
    const pieces = part.items.map((item) => Buffer.from(itemJson(item)));
    hold.resize(pieces.reduce((sum, piece) => sum + piece.length, 0));
    while (pieces.length > 0) {
      if (separator !== '') yield separator;
      separator = ',';
      yield pieces.shift()!;
    }
    hold.resize(MAX_PAGE_BYTES);
  }
  yield withWarnings(pageTail({ ...page, nextCursor }, applied), request);
}

async function* withFirst<T>({
  items,
  nextCursor,
  rest,
}: Page<T>): AsyncGenerator<Pick<Page<T>, 'items' | 'nextCursor'>> {
  if (items.length > 0) yield { items, nextCursor };
  if (rest !== null) yield* rest;
}
