import type { Random } from '@millrace/tools-shared';
import { withHeader } from '../draft.js';
import { isObject, membersOf, pathsOf, print, RawText, replaced, valueAt, type Json } from '../json.js';
import { caseOf, draftOf } from '../valid.js';
import { deepValue, denseValue, largeValue, oddText, oddValue } from '../values.js';
import type { Mutation, Mutations } from './types.js';

/** Broken bodies: first documents in which one value is changed, then text and bytes regardless of their meaning. */

type Edit = (body: Json, random: Random, maxBytes: number) => Json | null;

const EXTRA_KEYS = [
  '__proto__',
  'constructor',
  'prototype',
  'unknown',
  '',
  'toString',
  '\u0000',
  'lease_token',
  'tenant_id',
  'id',
  'status',
];

const somewhere = (body: Json, random: Random): readonly (string | number)[] => random.pick(pathsOf(body));

const EDITS: Readonly<Record<string, Edit>> = {
  'json.replace': (body, random) => replaced(body, somewhere(body, random), oddValue(random)),
  'json.replace-two': (body, random) => {
    const once = replaced(body, somewhere(body, random), oddValue(random));
    return replaced(once, somewhere(once, random), oddValue(random));
  },
  'json.drop': (body, random) => replaced(body, somewhere(body, random), undefined),
  'json.add': (body, random) =>
    atObject(
      body,
      random,
      (members) => `{${[...members, member(random.pick(EXTRA_KEYS), oddValue(random))].join(',')}}`,
    ),
  'json.proto': (body, random) =>
    atObject(body, random, (members) => {
      const poison = '{"isAdmin":true,"tenant_id":"x","toString":null,"task_name":"echo"}';
      return `{${[...members, `"__proto__":${poison}`, `"constructor":{"prototype":${poison}}`].join(',')}}`;
    }),
  'json.duplicate-key': (body, random) =>
    atObject(body, random, (members) => {
      const key = /^"(?:[^"\\]|\\.)*"/.exec(random.pick([...members, '"x":1']))?.[0] ?? '"x"';
      const twin = `${key}:${print(oddValue(random))}`;
      return `{${(random.chance(0.5) ? [twin, ...members] : [...members, twin]).join(',')}}`;
    }),
  'json.nest': (body, random) => replaced(body, somewhere(body, random), deepValue(random)),
  'json.large': (body, random, maxBytes) => replaced(body, somewhere(body, random), largeValue(random, maxBytes)),
  'json.dense': (body, random, maxBytes) => replaced(body, somewhere(body, random), denseValue(random, maxBytes)),
  'json.dense-member': (body, random, maxBytes) =>
    atObject(body, random, (members) => {
      const dense = member(random.pick(EXTRA_KEYS), denseValue(random, maxBytes));
      return `{${(random.chance(0.5) ? [dense, ...members] : [...members, dense]).join(',')}}`;
    }),
  'json.repeat-items': (body, random) => {
    const arrays = pathsOf(body).filter((path) => Array.isArray(valueAt(body, path)));
    if (arrays.length === 0) return null;
    const path = random.pick(arrays);
    const items = valueAt(body, path) as readonly Json[];
    return replaced(
      body,
      path,
      Array.from({ length: random.pick([0, 2, 100, 1001]) }, () => items[0] ?? null),
    );
  },
};

const member = (key: string, value: Json): string => `${JSON.stringify(key)}:${print(value)}`;

function atObject(body: Json, random: Random, write: (members: string[]) => string): Json | null {
  const objects = pathsOf(body).filter((path) => isObject(valueAt(body, path)));
  if (objects.length === 0) return null;
  const path = random.pick(objects);
  const inner = valueAt(body, path);
  return isObject(inner) ? replaced(body, path, new RawText(write(membersOf(inner)))) : null;
}

const edited =
  (name: string, edit: Edit): Mutation =>
  (blank, random, { maxBodyBytes }) => {
    if (blank.body === undefined) return null;
    const body = edit(blank.body, random, maxBodyBytes);
    return body === null ? null : caseOf({ ...blank, body }, name);
  };

type Rewrite = (bytes: Buffer, random: Random) => Buffer;

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const BAD_UTF8 = ['80', 'c0af', 'eda080', 'f4908080', 'ff', 'e282', 'f8888080', 'fe'];

const splice = (bytes: Buffer, at: number, what: Buffer, drop = 0): Buffer =>
  Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at + drop)]);

const REWRITES: Readonly<Record<string, Rewrite>> = {
  'bytes.cut': (bytes, random) => bytes.subarray(0, random.below(bytes.length)),
  'bytes.flip': (bytes, random) => splice(bytes, random.below(bytes.length), Buffer.from([random.below(256)]), 1),
  'bytes.insert': (bytes, random) => splice(bytes, random.below(bytes.length), Buffer.from([random.below(256)])),
  'bytes.bad-utf8': (bytes, random) => {
    const inString = bytes.indexOf('"') + 1;
    return splice(
      bytes,
      random.chance(0.7) ? inString : random.below(bytes.length),
      Buffer.from(random.pick(BAD_UTF8), 'hex'),
    );
  },
  'bytes.nul': (bytes, random) => splice(bytes, random.below(bytes.length + 1), Buffer.from([0])),
  'bytes.bom': (bytes, random) => Buffer.concat([...(random.chance(0.2) ? [BOM] : []), BOM, bytes]),
  'bytes.utf16': (bytes) => Buffer.from(`\ufeff${bytes.toString()}`, 'utf16le'),
  'bytes.trailing': (bytes, random) =>
    Buffer.concat([bytes, Buffer.from(random.pick(['x', '{}', ',', '\0', ']', '\n{}\n', ' '.repeat(5000)]))]),
  'bytes.not-json': (_bytes, random) =>
    Buffer.from(
      random.pick([
        'null',
        '[]',
        '"x"',
        '1',
        'true',
        '{',
        '',
        ' ',
        'a=1&b=2',
        '<a/>',
        '[[[[',
        '"',
        '{"a":}',
        oddText(random),
      ]),
    ),
};

const rewritten =
  (name: string, rewrite: Rewrite): Mutation =>
  (blank, random) => {
    const draft = draftOf(blank);
    return draft.body === null ? null : caseOf(blank, name, { ...draft, body: rewrite(draft.body, random) });
  };

/** A body where none is expected. */
const unexpected: Mutation = (blank, random) => {
  if (blank.body !== undefined) return null;
  const draft = draftOf(blank);
  const body = Buffer.from(random.pick(['', '{}', '{"a":1}', '[]', 'x', '{"a":', '\0', 'x'.repeat(70_000)]));
  const typed = random.chance(0.7)
    ? withHeader(draft, 'Content-Type', random.pick(['application/json', 'text/plain', '']))
    : draft;
  return caseOf(blank, 'body.unexpected', { ...typed, body });
};

const named = <T>(table: Readonly<Record<string, T>>, make: (name: string, entry: T) => Mutation): Mutations =>
  Object.fromEntries(Object.entries(table).map(([name, entry]) => [name, make(name, entry)]));

export const BODY_MUTATIONS: Mutations = {
  ...named(EDITS, edited),
  ...named(REWRITES, rewritten),
  'body.unexpected': unexpected,
};
