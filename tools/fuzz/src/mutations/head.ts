import type { Random } from '@millrace/tools-shared';
import { withExtraHeader, withHeader, withoutHeader, type Draft } from '../draft.js';
import { caseOf, cursorName, draftOf, kindOf, targetOf, type Blank } from '../valid.js';
import { oddText } from '../values.js';
import type { Mutation, Mutations } from './types.js';

/** Odd request lines and headers. */

type Redraft = (draft: Draft, random: Random) => Draft;

const MEDIA_TYPES = [
  'text/plain',
  'application/xml',
  'multipart/form-data',
  'application/x-www-form-urlencoded',
  '',
  ';',
  'application/json;',
  'application/json; charset=utf-16',
  'application/json; charset=latin1',
  'APPLICATION/JSON',
  'application/json, text/plain',
  'application/jsonp',
  'application/vnd.api+json',
  '*/*',
  'x'.repeat(3000),
];

/** Text that is allowed in a header; anything else would be broken framing, which framing.ts covers. */
const headerText = (random: Random): string =>
  oddText(random)
    .replace(/[\0\r\n\u0100-\uffff]/g, '')
    .slice(0, 5000);

const ODD_HEADERS: readonly (readonly [string, string])[] = [
  ['Expect', '100-continue'],
  ['Expect', '200-ok'],
  ['Upgrade', 'websocket'],
  ['Connection', 'Upgrade, close'],
  ['Connection', 'keep-alive, Authorization'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['X-Forwarded-For', '127.0.0.1'],
  ['X-Forwarded-Host', 'evil.invalid'],
  ['X-Original-URL', '/api/v1/dlq'],
  ['X-Request-Id', 'a b"c<d>'],
  ['X-Request-Id', 'x'.repeat(4000)],
  ['Origin', 'null'],
  ['Origin', 'https://evil.invalid'],
  ['Range', 'bytes=0-18446744073709551615'],
  ['If-None-Match', '*'],
  ['If-Modified-Since', 'yesterday'],
  ['Prefer', 'handling=strict'],
  ['Prefer', 'handling=strict;x, handling="lenient'],
  ['Accept', 'application/x-nothing'],
  ['Accept-Encoding', 'gzip;q=0, *;q=0'],
  ['Accept-Version', '9.9.9'],
  ['Accept-Language', '*'],
  ['Cookie', 'a=b; '.repeat(300)],
  ['Date', 'x'],
  ['Te', 'trailers'],
  ['Trailer', 'Authorization'],
  ['Max-Forwards', '0'],
  ['__proto__', 'x'],
  ['constructor', 'x'],
];

const REDRAFTS: Readonly<Record<string, Redraft>> = {
  'header.media-type': (draft, random) => withHeader(draft, 'Content-Type', random.pick(MEDIA_TYPES)),
  'header.no-media-type': (draft) => withoutHeader(draft, 'content-type'),
  'header.odd': (draft, random) => withExtraHeader(draft, ...random.pick(ODD_HEADERS)),
  'header.twice': (draft, random) => {
    const [name, value] = random.pick(draft.headers);
    return withExtraHeader(draft, name, random.chance(0.5) ? value : headerText(random));
  },
  'header.key': (draft, random) =>
    withExtraHeader(
      draft,
      'Idempotency-Key',
      random.pick([headerText(random), 'x'.repeat(255), 'x'.repeat(256), 'millrace:x', 'ü\u00ff\u0080', '\t', '  k  ']),
    ),
  'header.many': (draft, random) =>
    Array.from({ length: random.pick([50, 500, 3000]) }, (_, i) => `X-${i}`).reduce<Draft>(
      (longer, name) => ({ ...longer, headers: [...longer.headers, [name, 'y']] }),
      draft,
    ),
  'header.long': (draft, random) =>
    withExtraHeader(draft, 'X-Long', 'x'.repeat(random.pick([8_000, 15_000, 16_500, 70_000]))),
  'header.text': (draft, random) =>
    withExtraHeader(draft, random.pick(['X-Odd', 'User-Agent', 'Referer', 'X-Request-Id']), headerText(random)),
  'header.no-host': (draft) => withoutHeader(draft, 'host'),
  'header.host': (draft, random) =>
    withHeader(draft, 'Host', random.pick(['', 'x', 'evil.invalid:99999', '[::1', 'a b', '../..', headerText(random)])),
  'line.http10': (draft) => ({ ...draft, version: '1.0' }),
};

const redrafted =
  (name: string, redraft: Redraft): Mutation =>
  (blank, random) =>
    caseOf(blank, name, redraft(draftOf(blank), random));

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'PROPFIND',
  'PURGE',
  'QUERY',
  'get',
  'FOO',
  'GET2',
];

const otherMethod: Mutation = (blank, random) =>
  caseOf(blank, 'line.method', { ...draftOf(blank), method: random.pick(METHODS) }, { isRouted: false });

const SEGMENTS = [
  '%00',
  '%2e%2e',
  '..',
  '.',
  '%2f',
  '%5c',
  '%ff',
  '%c0%af',
  '%',
  '%zz',
  '%u0041',
  '',
  ' ',
  '😀',
  '%f0%9f%98%80',
  '*',
  ':id',
  '{id}',
  '(.*)',
  ';a=b',
  '%0d%0aX-Injected:%201',
  '__proto__',
  '-1',
  '0',
  '1e3',
  '9223372036854775807',
  '9223372036854775808',
  '1'.repeat(400),
  'x'.repeat(5_000),
  '%41'.repeat(4_000),
  '%27%20OR%201=1--',
  '~',
  '%25252e',
  'null',
];

/** Replaces one segment of the path; what it then means is up to the router. */
const otherSegment: Mutation = (blank, random) => {
  const segments = blank.path.split('/');
  segments[random.integer(1, segments.length - 1)] = rawPath(random.pick(SEGMENTS));
  const target = targetOf({ ...blank, path: segments.join('/') });
  return caseOf(blank, 'path.segment', { ...draftOf(blank), target }, { isRouted: false });
};

const TARGETS: readonly ((path: string) => string)[] = [
  (path) => `//${path}`,
  (path) => `${path}/`,
  (path) => path.toUpperCase(),
  (path) => `${path}%20`,
  (path) => `${path}#fragment`,
  (path) => `http://evil.invalid${path}`,
  (path) => path.replaceAll('/', '\\'),
  (path) => path.replaceAll('/', '%2f'),
  (path) => `/../..${path}`,
  (path) => `/%2e%2e${path}`,
  (path) => `${path};jsessionid=1`,
  (path) => `${path}?${'x'.repeat(12_000)}`,
  (path) => `/${'a/'.repeat(6_000)}${path}`,
  (path) => path.slice(1),
  () => '*',
  () => '/',
  () => '/docs/static/%2e%2e/%2e%2e/package.json',
  () => '/docs/static/..%2f..%2fpackage.json',
  () => '/docs',
  () => '/openapi.json',
  () => '/metrics',
];

const otherTarget: Mutation = (blank, random) =>
  caseOf(blank, 'path.target', { ...draftOf(blank), target: random.pick(TARGETS)(blank.path) }, { isRouted: false });

/** The UTF-8 bytes as one character each, since the request line is encoded as Latin-1. */
const rawPath = (text: string): string => Buffer.from(text).toString('latin1').replaceAll(' ', '%20');

const PAIRS: readonly ((name: string, value: string, random: Random) => string)[] = [
  (name, _value, random) => `${name}=${encodeText(oddText(random))}`,
  (name, value) => `${name}=${value}&${name}=${value}`,
  (name, value) => `${name}[]=${value}`,
  (name, value) => `${name}[__proto__]=${value}`,
  (name) => name,
  (name) => `${name}=`,
  (name) => `${name}=%`,
  (name) => `${name}=%00`,
  (name) => `${name}=%ff%fe`,
  (name) => `${name}=%ed%a0%80`,
  (name) => `${name}=${'9'.repeat(400)}`,
  (name) => `${name}=-${'9'.repeat(30)}`,
  (name) => `${name}=1e2`,
  (name) => `${name}=+5`,
  (name) => `${name}=created_at%20ASC;%20DROP%20TABLE%20jobs`,
  (name) => `${Array.from({ length: 1500 }, (_, i) => `p${i}`).join('&')}&${name}=1`,
  (name) => `__proto__=1&constructor=2&${name}`,
  (name, value) => `;${name}=${value}&&&=&=x`,
];

const encodeText = (text: string): string =>
  Buffer.from(text)
    .toString('latin1')
    .replace(/[^\w.-]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`);

const oddQuery: Mutation = (blank, random) => {
  const { parameters } = blank.operation;
  const names = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
  const name = random.pick(names.length > 0 ? names : ['limit', 'cursor', 'x']);
  const query = random.pick(PAIRS)(name, '5', random);
  return caseOf(blank, 'query.odd', { ...draftOf(blank), target: `${blank.path}?${query}` });
};

/** Cursors from another list or of another tenant, and tampered ones. */
const oddCursor: Mutation = (blank, random, { memory }) => {
  const cursorIs = cursorName(blank.operation.id);
  const takesCursor = blank.operation.parameters.some(({ name }) => name === cursorIs);
  if (!takesCursor || memory.cursors.length === 0) return null;
  const { cursor } = random.pick(memory.cursors);
  const at = random.below(cursor.length);
  const tampered = random.chance(0.5) ? cursor : cursor.slice(0, at) + random.word(1) + cursor.slice(at + 1);
  const target = targetOf({ ...blank, query: [[cursorIs, tampered]] });
  return caseOf(blank, 'query.cursor', { ...draftOf(blank), target });
};

/** Another tenant's resource: 403, or 404 if it is gone by now, and none of its data in the answer. */
const foreignId: Mutation = (blank, random, { memory, callers }) => {
  const kind = kindOf(blank.operation);
  if (kind === null || blank.operation.access !== 'tenant') return null;
  const others = callers.tenants.filter((tenant) => tenant !== blank.tenant);
  const ids = memory.ids(kind, random.pick(others));
  if (ids.length === 0) return null;
  const path = blank.operation.path.replace('{id}', random.pick(ids));
  // A key that was used for something else would be a conflict.
  const headers = blank.headers.filter(([name]) => name !== 'Idempotency-Key');
  return caseOf({ ...blank, path, query: [], headers }, 'path.foreign-id', undefined, { onlyStatuses: [403, 404] });
};

/** A worker route with the lease of one job and the id of another. */
const mixedLease: Mutation = (blank, random, { memory }) => {
  if (blank.operation.access !== 'worker' || kindOf(blank.operation) === null || memory.leases.length < 2) return null;
  const path = blank.operation.path.replace('{id}', random.pick(memory.leases).id);
  return caseOf({ ...blank, path } satisfies Blank, 'path.mixed-lease');
};

export const HEAD_MUTATIONS: Mutations = {
  ...Object.fromEntries(Object.entries(REDRAFTS).map(([name, redraft]) => [name, redrafted(name, redraft)])),
  'line.method': otherMethod,
  'path.segment': otherSegment,
  'path.target': otherTarget,
  'path.foreign-id': foreignId,
  'path.mixed-lease': mixedLease,
  'query.odd': oddQuery,
  'query.cursor': oddCursor,
};
