import * as contract from '@millrace/contract';

/**
 * What a request may consist of, taken from the contract's schemas: the names that mean something, and nothing else. A
 * request is held against its shape after it passed validation, so its values have the right types.
 */
export interface Shape {
  readonly members: ReadonlyMap<string, Member>;
}

export interface Member {
  /** Null: whatever it holds is not looked at. */
  readonly shape: Shape | null;
  /** It is a list of such. */
  readonly isList: boolean;
}

/** The parts of JSON Schema that matter here. */
export interface Schema {
  readonly $id?: string;
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Members that belong to the caller, or that are cut to size and never refused. */
const OPAQUE = new Set(['payload', 'metadata', 'context', 'result', 'details', 'progress', 'value']);

/** Two spellings of one field: whoever knows one knows the other, whichever the schema tells. */
const TIMEOUTS = ['timeout', 'timeout_secs'];

const LEAF: Member = { shape: null, isList: false };
export const NO_SHAPE: Shape = { members: new Map() };

const BY_ID = new Map(
  (Object.values(contract) as unknown[])
    .filter((each): each is Schema => typeof each === 'object' && each !== null && '$id' in each)
    .map((schema) => [`${schema.$id}#`, schema]),
);

export const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (BY_ID.get(schema.$ref) ?? schema);

/** Every way that a value of the schema can look. */
export function variants(schema: Schema): Schema[] {
  const resolved = resolve(schema);
  return [resolved, ...[...(resolved.anyOf ?? []), ...(resolved.oneOf ?? [])].flatMap(variants)];
}

export function shapeOf(schema: Schema): Shape {
  const members = new Map<string, Member>();
  for (const { properties = {} } of variants(schema)) {
    for (const [name, inner] of Object.entries(properties))
      members.set(name, OPAQUE.has(name) ? LEAF : memberOf(inner));
  }
  if (TIMEOUTS.some((name) => members.has(name))) for (const name of TIMEOUTS) members.set(name, LEAF);
  return { members };
}

function memberOf(schema: Schema): Member {
  for (const variant of variants(schema)) {
    const shape = shapeOf(variant.items ?? variant);
    if (shape.members.size > 0) return { shape, isList: variant.items !== undefined };
  }
  return LEAF;
}

/** Whether everything in the value is in the shape. Allocates nothing: nearly every request passes here. */
export function fits({ members }: Shape, value: object): boolean {
  for (const name in value) {
    const member = members.get(name);
    if (member === undefined) return false;
    if (member.shape === null) continue;
    const inner = (value as Record<string, unknown>)[name];
    if (typeof inner !== 'object' || inner === null) continue;
    if (member.isList ? !eachFits(member.shape, inner as readonly object[]) : !fits(member.shape, inner)) return false;
  }
  return true;
}

function eachFits(shape: Shape, list: readonly object[]): boolean {
  for (const item of list) if (!fits(shape, item)) return false;
  return true;
}

/** The place of a member that the shape does not have. */
export interface UnknownMember {
  readonly name: string;
  /** What leads to it: `config.`, `jobs[3].`, or nothing. */
  readonly path: string;
  /** The position in the list that it is in; null: in none. */
  readonly index: number | null;
}

/** At most `max` of them, in the order of the request. */
export function unknownMembers(shape: Shape, value: object, max: number): UnknownMember[] {
  const found: UnknownMember[] = [];
  const visit = ({ members }: Shape, inner: object, path: string, index: number | null): void => {
    for (const name in inner) {
      if (found.length >= max) return;
      const member = members.get(name);
      const content = (inner as Record<string, unknown>)[name];
      if (member === undefined) found.push({ name, path, index });
      else if (member.shape === null || typeof content !== 'object' || content === null) continue;
      else if (!member.isList) visit(member.shape, content, `${path}${name}.`, index);
      else
        for (const [n, item] of (content as readonly object[]).entries())
          visit(member.shape, item, `${path}${name}[${n}].`, n);
    }
  };
  visit(shape, value, '', null);
  return found;
}

/** The paths of all members, with `[]` for the position in a list. */
export function pathsOf({ members }: Shape, path = ''): string[] {
  return [...members].flatMap(([name, { shape, isList }]) => [
    `${path}${name}`,
    ...(shape === null ? [] : pathsOf(shape, `${path}${name}${isList ? '[]' : ''}.`)),
  ]);
}
