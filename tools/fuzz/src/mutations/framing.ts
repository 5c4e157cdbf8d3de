import type { Random } from '@millrace/tools-shared';
import { encode, withExtraHeader, withHeader, withoutHeader, type Draft } from '../draft.js';
import { caseOf, draftOf } from '../valid.js';
import type { Mutation, Mutations } from './types.js';

/** Bytes that are not quite HTTP. Each request uses a new connection, which the client then half-closes. */

type Break = (draft: Draft, random: Random) => Buffer;

const LENGTHS = [
  '-1',
  '+5',
  '0x10',
  '5, 5',
  '5, 6',
  '1e3',
  '',
  ' ',
  '99999999999999999999',
  '18446744073709551616',
  '5.0',
  'five',
  '0',
];
const ENCODINGS = [
  'chunked, chunked',
  'identity',
  'gzip, chunked',
  'chunked, identity',
  'xchunked',
  ' chunked',
  'chunked;q=1',
  '"chunked"',
  'chunked\t',
  '',
];

const chunked = (draft: Draft, text: string): Buffer =>
  Buffer.concat([
    encode(withHeader({ ...draft, body: null }, 'Transfer-Encoding', 'chunked')),
    Buffer.from(text, 'latin1'),
  ]);

const sizeOf = (draft: Draft): string => (draft.body?.length ?? 0).toString(16);
const textOf = (draft: Draft): string => draft.body?.toString('latin1') ?? '';

const BREAKS: Readonly<Record<string, Break>> = {
  'framing.length': (draft, random) => encode(withHeader(draft, 'Content-Length', random.pick(LENGTHS))),
  'framing.length-off': (draft, random) =>
    encode(
      withHeader(
        draft,
        'Content-Length',
        String(Math.max(0, (draft.body?.length ?? 0) + random.pick([-20, -1, 1, 20, 5000]))),
      ),
    ),
  'framing.two-lengths': (draft) =>
    encode(
      withExtraHeader(withHeader(draft, 'Content-Length', String(draft.body?.length ?? 0)), 'Content-Length', '3'),
    ),
  'framing.length-and-chunks': (draft) =>
    encode(withExtraHeader(withHeader(draft, 'Content-Length', '4'), 'Transfer-Encoding', 'chunked')),
  'framing.encoding': (draft, random) => encode(withHeader(draft, 'Transfer-Encoding', random.pick(ENCODINGS))),
  'framing.chunk-size': (draft, random) => {
    const size = random.pick([
      'zz',
      '-5',
      '0x5',
      'ffffffffffffffff',
      '1'.repeat(40),
      '',
      '5;',
      `5;${'x'.repeat(20_000)}`,
      '5 ',
      '1_0',
    ]);
    return chunked(draft, `${size}\r\n${textOf(draft)}\r\n0\r\n\r\n`);
  },
  'framing.chunk-end': (draft, random) =>
    chunked(draft, `${sizeOf(draft)}\r\n${textOf(draft)}${random.pick(['', '\n', '\r', 'xx'])}0\r\n\r\n`),
  'framing.chunk-cut': (draft, random) => {
    const whole = `${sizeOf(draft)}\r\n${textOf(draft)}\r\n0\r\n\r\n`;
    return chunked(draft, whole.slice(0, random.below(whole.length)));
  },
  'framing.chunks': (draft) => {
    const pieces = textOf(draft).match(/[^]{1,7}/g) ?? [];
    return chunked(draft, `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`);
  },
  'framing.trailers': (draft) =>
    chunked(draft, `${sizeOf(draft)}\r\n${textOf(draft)}\r\n0\r\nAuthorization: Bearer x\r\nX-T: 1\r\n\r\n`),
  'framing.cut': (draft, random) => {
    const whole = encode(draft);
    return whole.subarray(0, random.integer(1, whole.length - 1));
  },
  'framing.bare-newlines': (draft) => Buffer.from(encode(draft).toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  'framing.bad-header': (draft, random) => {
    const line = random.pick([
      'No-Colon',
      ': no name',
      'Sp ace: x',
      'X\0Y: z',
      'X: a\0b',
      'X: a\rb',
      ' Folded: x',
      'X:\x01',
      'Ünicode: x',
      '\r',
    ]);
    return Buffer.from(encode(draft).toString('latin1').replace('\r\n', `\r\n${line}\r\n`), 'latin1');
  },
  'framing.bad-line': (draft, random) => {
    const line = random.pick([
      'GET',
      'GET /',
      'GET / HTTP/9.9',
      'GET / HTTP/2.0',
      'GET  /  HTTP/1.1',
      'GET /\0 HTTP/1.1',
      'PRI * HTTP/2.0',
      '\x16\x03\x01\x02',
      'GET / FTP/1.0',
      'A'.repeat(100_000),
    ]);
    return Buffer.from(
      encode(draft)
        .toString('latin1')
        .replace(/^[^\r]*/, () => line),
      'latin1',
    );
  },
  'framing.pipelined': (draft) => Buffer.concat([encode(draft), encode(draft), encode(draft)]),
  'framing.smuggled': (draft) => {
    const inner = encode({ ...draft, body: null });
    return encode(
      withHeader(
        withHeader(
          { ...draft, body: Buffer.concat([Buffer.from('0\r\n\r\n'), inner]) },
          'Transfer-Encoding',
          'chunked',
        ),
        'Content-Length',
        '5',
      ),
    );
  },
  'framing.noise': (_draft, random) =>
    Buffer.from(Array.from({ length: random.integer(1, 400) }, () => random.below(256))),
};

const WAITING = new Set(['leaseJobs', 'watchJob', 'watchWorkflow', 'waitForJobs', 'getJob']);

const broken =
  (name: string, wreck: Break): Mutation =>
  (blank, random) => {
    // A waiting call or an event stream would keep the half-closed connection open.
    if (WAITING.has(blank.operation.id)) return null;
    const draft = withoutHeader(draftOf(blank), 'content-length');
    return caseOf(blank, name, draft, { raw: wreck(draft, random), isRouted: false });
  };

export const FRAMING_MUTATIONS: Mutations = Object.fromEntries(
  Object.entries(BREAKS).map(([name, wreck]) => [name, broken(name, wreck)]),
);
