import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { MAX_PAGE_BYTES, type Page, type PageEnds, type PagePart } from '../../engine/api.js';
import type { AnswerHold } from '../access/answer-room.js';
import type { HttpContext } from '../context.js';
import { sendTagged } from './etag.js';
import { JSON_TYPE, withWarnings } from './reply.js';
import { pageHead, pageJson, pageTail, type AppliedWindow } from './serialize.js';
import { holdUntilTaken } from './unread.js';

/** How the items of a page are shown. */
export interface PageFormat<T> {
  /** The name of the field that holds them in the answer. */
  readonly key: string;
  readonly itemJson: (item: T) => string;
}

/**
 * Answers with a page, with an ETag unless it is streamed. Its large items are read from the database as the client
 * takes them, so that a page is never in memory as a whole; the part that is in memory gets its room
 * (access/answer-room.ts) before it is read.
 */
export async function sendPage<T>(
  request: FastifyRequest,
  reply: FastifyReply,
  context: HttpContext,
  page: Page<T>,
  applied: AppliedWindow,
  format: PageFormat<T>,
): Promise<FastifyReply> {
  if (page.rest === null) return sendTagged(request, reply, pageJson(format.key, page, applied, format.itemJson));
  reply.code(200).header('content-type', JSON_TYPE);
  // The answer to a HEAD has no body, so there is nothing to read.
  if (request.method === 'HEAD') return reply.send();
  const hold = await context.answers.waitToHold(request.tenant, MAX_PAGE_BYTES);
  holdUntilTaken(reply.raw, hold, context);
  // One piece at a time: the next is produced when this one has been taken.
  return reply.send(Readable.from(pageTexts(request, page, applied, format, hold), { highWaterMark: 1 }));
}

async function* pageTexts<T>(
  request: FastifyRequest,
  page: Page<T>,
  applied: AppliedWindow,
  { key, itemJson }: PageFormat<T>,
  hold: AnswerHold,
): AsyncGenerator<string | Buffer> {
  let ends: PageEnds = page;
  let separator = '';
  yield pageHead(key);
  for await (const part of withFirst(page)) {
    ends = part;
    const pieces = part.items.map((item) => Buffer.from(itemJson(item)));
    hold.resize(pieces.reduce((sum, piece) => sum + piece.length, 0));
    while (pieces.length > 0) {
      if (separator !== '') yield separator;
      separator = ',';
      yield pieces.shift()!;
    }
    hold.resize(MAX_PAGE_BYTES);
  }
  yield withWarnings(pageTail({ ...ends, total: page.total }, applied), request);
}

async function* withFirst<T>(page: Page<T>): AsyncGenerator<PagePart<T>> {
  if (page.items.length > 0) yield page;
  if (page.rest !== null) yield* page.rest;
}
