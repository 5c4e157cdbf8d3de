import type { RouteOptions } from 'fastify';
import { OPAQUE, SCALAR, type Part } from '../../domain/json-outline.js';
import { variants, type Schema } from './shapes.js';

/** What a route reads of its body, taken from its schema, and how large the body may be because of that. */

export const NOTHING: Part = { kind: 'object', members: new Map() };

/** The body of a route that takes none; it is read and checked all the same. */
const UNUSED_BODY_BYTES = 64 * 1024;
/** What is not the caller's own: at most a thousand ids and some names. */
const PLAIN_BODY_BYTES = 1024 * 1024;

/** The text of an error is cut to size and never refused, whatever its length. */
const CUT_TO_SIZE = 'error';

/** The schema in the description goes before: where items are judged one by one, the validator's tells less. */
export function partOf({ schema }: Pick<RouteOptions, 'schema'>): Part {
  const { body, docs } = (schema ?? {}) as { body?: Schema; docs?: { body?: Schema } };
  const taken = docs?.body ?? body;
  return taken === undefined ? NOTHING : partOfSchema(taken);
}

function partOfSchema(schema: Schema): Part {
  const possible = variants(schema);
  const list = possible.find(({ items }) => items !== undefined);
  if (list !== undefined) return listOf(list);
  const members = possible.flatMap(({ properties = {} }) => Object.entries(properties));
  if (members.length > 0)
    return { kind: 'object', members: new Map(members.map(([name, inner]) => [name, partOfSchema(inner)])) };
  return isAnything(schema) || possible.some(({ type }) => [type].flat().includes('object')) ? OPAQUE : SCALAR;
}

/** A schema that says nothing about its value: any JSON of the caller's. */
const isAnything = (schema: Schema): boolean =>
  !['type', '$ref', 'anyOf', 'oneOf', 'enum', 'const'].some((keyword) => keyword in schema);

function listOf({ items, maxItems }: Schema): Part {
  if (maxItems === undefined)
    throw new TypeError('a list in a request needs maxItems: it bounds what reading it costs');
  return { kind: 'list', items: partOfSchema(items!), most: maxItems };
}

export interface BodyLimits {
  readonly maxBodyBytes: number;
  readonly maxPayloadBytes: number;
}

/** What the route could ever use, within what the server accepts. */
export function bodyLimit(takes: Part, { maxBodyBytes, maxPayloadBytes }: BodyLimits): number {
  if (takes === NOTHING) return Math.min(UNUSED_BODY_BYTES, maxBodyBytes);
  return Math.min(PLAIN_BODY_BYTES + callersParts(takes) * maxPayloadBytes, maxBodyBytes);
}

/** How many parts of it belong to the caller, or are cut to size: infinitely many in a list. */
function callersParts(part: Part): number {
  switch (part.kind) {
    case 'scalar':
      return 0;
    case 'opaque':
      return 1;
    case 'list':
      return callersParts(part.items) === 0 ? 0 : Infinity;
    case 'object':
      if (part.members.has(CUT_TO_SIZE)) return Infinity;
      return [...part.members.values()].reduce((sum, member) => sum + callersParts(member), 0);
  }
}
