import type { Random } from '@millrace/tools-shared';
import { withHeader, type Draft } from '../draft.js';
import { caseOf, draftOf } from '../valid.js';
import type { Mutation, Mutations } from './types.js';

/** Bodies that nobody says the length of. They are HTTP to the letter: what is wrong with them is what they cost. */

const CHUNK = 64 * 1024;
/** More pieces than any client would send. */
const MANY_PIECES = 70_000;

const chunk = (bytes: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const END = Buffer.from('0\r\n\r\n');

function inChunks(draft: Draft, body: Buffer, size: number): Draft {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length; at += size) chunks.push(chunk(body.subarray(at, at + size)));
  return { ...withHeader(draft, 'Transfer-Encoding', 'chunked'), body: Buffer.concat([...chunks, END]) };
}

/** As good as one with a length. */
const valid: Mutation = (blank, random) => {
  const draft = draftOf(blank);
  if (draft.body === null) return null;
  const size = random.pick([1, 7, 1_000, CHUNK]);
  return caseOf(blank, 'chunked.valid', inChunks(draft, draft.body, size));
};

/** Beyond what the server accepts, which it learns when it has read that much. */
const large: Mutation = (blank, random, { maxBodyBytes }) => {
  const draft = draftOf(blank);
  if (draft.body === null) return null;
  const body = padded(draft.body, random, maxBodyBytes * 1.2);
  return caseOf(blank, 'chunked.large', inChunks(draft, body, CHUNK), { onlyStatuses: [413] });
};

const pieces: Mutation = (blank, random) => {
  const draft = draftOf(blank);
  if (draft.body === null) return null;
  const body = padded(draft.body, random, MANY_PIECES);
  return caseOf(blank, 'chunked.pieces', inChunks(draft, body, 1), { onlyStatuses: [400, 413] });
};

function padded(body: Buffer, random: Random, bytes: number): Buffer {
  const padding = Buffer.alloc(bytes, ' ');
  return random.chance(0.5) ? Buffer.concat([padding, body]) : Buffer.concat([body, padding]);
}

export const CHUNKED_MUTATIONS: Mutations = {
  'chunked.valid': valid,
  'chunked.large': large,
  'chunked.pieces': pieces,
};
