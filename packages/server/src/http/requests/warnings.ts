import { preferHeader, type ErrorDetail } from '@millrace/contract';
import { clampedTo } from '@millrace/sdk/rules';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchema,
  HookHandlerDoneFunction,
  RouteOptions,
} from 'fastify';
import { invalidRequest } from '../../domain/errors.js';
import '../types.js';
import { isStrict } from './headers.js';
import {
  fits,
  NO_SHAPE,
  pathsOf,
  shapeOf,
  unknownMembers,
  variants,
  type Schema,
  type Shape,
  type UnknownMember,
} from './shapes.js';
import { suggestion } from './suggestions.js';

/**
 * What of a request has no effect is not refused, but told: the answer carries `warnings`. A caller that prefers
 * `handling=strict` is refused instead. Which routes do so follows from the contract: those whose answer has room for
 * warnings, which are the creates and the lists. What each knows is worked out once, when the route is registered.
 */

/** More than this helps nobody to correct a request. */
const MAX_WARNINGS = 20;
/** What is shown of a name, in UTF-16 units. */
const MAX_NAME = 64;

/** Parameters that are ignored by specification. */
const IGNORED: Readonly<Record<string, readonly string[]>> = {
  listWorkflows: ['queue'],
  listCrons: ['status', 'queue'],
  listDeadLetters: ['status', 'queue'],
};

interface Route {
  readonly body: Shape;
  readonly bodyPaths: readonly string[];
  readonly query: ReadonlySet<string>;
  readonly queryPaths: readonly string[];
  /** Numbers in the query that are clamped, by name. */
  readonly ranges: ReadonlyMap<string, Range>;
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

interface Finding {
  /** The field or parameter, for people and for programs. */
  readonly path: string;
  /** `unknown field "queue"`. */
  readonly warning: string;
  /** `is not a known field`. */
  readonly refusal: string;
  /** `did you mean config.queue?`, or null. */
  readonly hint: string | null;
}

/** Applies to every route that is registered afterwards. */
export function warnOfUnknown(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    const known = routeOf(route);
    if (known === null) return;
    route.schema = withPrefer(route.schema!);
    route.preHandler = [...[route.preHandler ?? []].flat(), checkOf(known)];
  });
}

function checkOf(route: Route) {
  return (request: FastifyRequest, reply: FastifyReply, done: HookHandlerDoneFunction): void => {
    const strict = isStrict(request.headers.prefer);
    if (strict) reply.header('preference-applied', 'handling=strict');
    if (hasNothingToSay(route, request)) return done();
    const findings = findingsOf(route, request);
    if (strict) return done(refusalOf(findings));
    request.warnings = findings.map(({ warning, hint }) => (hint === null ? warning : `${warning}; ${hint}`));
    done();
  };
}

function hasNothingToSay({ body, query, ranges }: Route, request: FastifyRequest): boolean {
  const given = request.query as Record<string, unknown>;
  for (const name in given) {
    if (!knows(query, name)) return false;
    const range = ranges.get(name);
    if (range !== undefined && clamped(name, given, range) !== null) return false;
  }
  return typeof request.body !== 'object' || request.body === null || fits(body, request.body);
}

/** A parameter that ends in `{field}` stands for all that begin like it. */
function knows(query: ReadonlySet<string>, name: string): boolean {
  if (query.has(name)) return true;
  const dot = name.indexOf('.');
  return dot !== -1 && query.has(`${name.slice(0, dot)}.{field}`);
}

/** What is used instead of a number that is out of range, or null. */
function clamped(name: string, given: Record<string, unknown>, range: Range): number | null {
  // By specification, a cursor takes the place of an offset.
  if (name === 'offset' && given.cursor !== undefined) return null;
  return clampedTo(given[name], range);
}

function findingsOf(route: Route, { query, body }: FastifyRequest): Finding[] {
  const given = query as Record<string, unknown>;
  const findings: Finding[] = [];
  for (const name in given) {
    if (findings.length === MAX_WARNINGS) break;
    const range = route.ranges.get(name);
    const used = range === undefined ? null : clamped(name, given, range);
    if (!knows(route.query, name)) findings.push(unknownParameter(name, route));
    else if (used !== null) findings.push(clampedNumber(name, used, range!));
  }
  const more = MAX_WARNINGS - findings.length;
  if (more > 0 && typeof body === 'object' && body !== null)
    findings.push(...unknownMembers(route.body, body, more).map((member) => unknownField(member, route)));
  return findings;
}

const meant = (path: string | null): string | null => (path === null ? null : `did you mean ${path}?`);

function unknownParameter(name: string, { queryPaths }: Route): Finding {
  const hint = meant(suggestion({ name, path: '', index: null }, queryPaths));
  const path = cut(name);
  return { path, warning: `unknown parameter ${JSON.stringify(path)}`, refusal: 'is not a known parameter', hint };
}

function clampedNumber(name: string, used: number, { minimum, maximum }: Range): Finding {
  const range = maximum === Infinity ? `${minimum} or more` : `${minimum} to ${maximum}`;
  return {
    path: name,
    warning: `${name} is out of range (${range}): ${used} is used`,
    refusal: `must be ${range}`,
    hint: null,
  };
}

function unknownField(member: UnknownMember, { bodyPaths }: Route): Finding {
  const path = `${member.path}${cut(member.name)}`;
  const hint = meant(suggestion(member, bodyPaths));
  return { path, warning: `unknown field ${JSON.stringify(path)}`, refusal: 'is not a known field', hint };
}

const cut = (name: string): string => (name.length <= MAX_NAME ? name : `${name.slice(0, MAX_NAME)}…`);

function refusalOf(findings: readonly Finding[]): Error {
  const details = findings.map(({ path, refusal, hint }): ErrorDetail => {
    return { path, message: hint === null ? refusal : `${refusal}; ${hint}` };
  });
  const [first] = details;
  return invalidRequest(`${first!.path} ${first!.message}`, details);
}

/** The API description tells of the preference wherever it is heard. */
function withPrefer(schema: FastifySchema): FastifySchema {
  const { docs } = schema;
  if (docs === undefined) return schema;
  const { properties } = (docs.headers ?? {}) as Schema;
  const headers = { ...docs.headers, type: 'object', properties: { ...properties, ...preferHeader } };
  return { ...schema, docs: { ...docs, headers } };
}

/** Null: its answer has no room for warnings. */
function routeOf({ schema }: RouteOptions): Route | null {
  const {
    docs,
    body,
    operationId = '',
  } = (schema ?? {}) as {
    docs?: { querystring?: Schema; response: Readonly<Record<string, Schema>> };
    body?: Schema;
    operationId?: string;
  };
  if (docs === undefined || !hasRoomForWarnings(docs.response)) return null;
  const shape = body === undefined ? NO_SHAPE : shapeOf(body);
  const parameters = docs.querystring?.properties ?? {};
  const names = Object.keys(parameters);
  return {
    body: shape,
    bodyPaths: pathsOf(shape),
    query: new Set([...names, ...(IGNORED[operationId] ?? [])]),
    queryPaths: names,
    ranges: new Map(
      Object.entries(parameters).flatMap(([name, { minimum, maximum = Infinity }]) =>
        minimum === undefined ? [] : [[name, { minimum, maximum }]],
      ),
    ),
  };
}

const hasRoomForWarnings = (responses: Readonly<Record<string, Schema>>): boolean =>
  Object.entries(responses).some(
    ([status, schema]) =>
      status.startsWith('2') && variants(schema).some(({ properties }) => properties?.warnings !== undefined),
  );
