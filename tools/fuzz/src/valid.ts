import type { Random } from '@millrace/tools-shared';
import { bodyOf } from './bodies.js';
import type { Case, Draft, Header } from './draft.js';
import { EXPRESSIONS, QUEUES, TASKS, ZONES } from './generate.js';
import { print, type Json, type JsonObject } from './json.js';
import type { Operation, Parameter } from './openapi.js';
import type { SchemaChecker } from './schema.js';
import type { Callers, Kind, Lease, Memory, Tenant } from './tenants.js';

/** What requests are made from. */
export interface World {
  readonly operations: readonly Operation[];
  readonly checker: SchemaChecker;
  readonly callers: Callers;
  readonly memory: Memory;
  readonly host: string;
  readonly maxBodyBytes: number;
}

/** A valid request in the parts that mutations work on. */
export interface Blank {
  readonly operation: Operation;
  readonly tenant: Tenant;
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: readonly Header[];
  readonly body: Json | undefined;
}

const ENDS = ['failed', 'cancelled,completed', 'failed,failed, completed'];
const STATES = ['pending', 'failed,cancelled', 'completed, running', 'retrying,retrying,pending'];

/** A request that the service has every reason to accept. */
export function validRequest(world: World, operation: Operation, random: Random): Blank {
  const tenant = random.pick(world.callers.tenants);
  const lease = world.memory.leases.length > 0 ? random.pick(world.memory.leases) : undefined;
  const path = pathOf(world, operation, tenant, lease, random);
  const query = queryOf(world, operation, tenant, random);
  const headers = headersOf(world, operation, tenant, random);
  const body = operation.body === null ? undefined : bodyOf(world, operation, tenant, lease, random);
  // A key in the body, or in a job of a batch, must not contradict the header.
  const { jobs = [], ...own } = (body ?? {}) as { readonly jobs?: readonly JsonObject[] } & JsonObject;
  const isKeyed = [own, ...jobs].some(({ idempotency_key: key }) => typeof key === 'string');
  return {
    operation,
    tenant,
    path,
    query,
    headers: isKeyed ? headers.filter(([name]) => name !== 'Idempotency-Key') : headers,
    body,
  };
}

export const kindOf = ({ id, path }: Operation): Kind | null => {
  // There the id is a name, which belongs to whoever gives it.
  if (id === 'putCron') return null;
  const [, kind] = /^\/api\/v1\/(jobs|workflows|cron|dlq|operations)\/\{id\}/.exec(path) ?? [];
  return (kind as Kind | undefined) ?? null;
};

function pathOf(world: World, operation: Operation, tenant: Tenant, lease: Lease | undefined, random: Random): string {
  const kind = kindOf(operation);
  const known = kind === null ? [] : world.memory.ids(kind, tenant);
  const id = operation.access === 'worker' ? lease?.id : known.length > 0 ? random.pick(known) : undefined;
  const fallback = kind === 'dlq' ? String(random.below(1_000_000)) : random.uuid();
  // A queue that is paused would have nothing for the workers, so operators have one of their own.
  const queue = operation.access === 'admin' ? 'paused' : random.pick(QUEUES);
  return operation.path
    .replace('{id}', id ?? fallback)
    .replace('{queue}', encodeURIComponent(queue))
    .replace('{name}', 'go');
}

export function tokenOf(callers: Callers, { access }: Operation, tenant: Tenant): string {
  if (access === 'worker') return callers.workerToken;
  return access === 'admin' ? callers.adminToken : tenant.token;
}

function headersOf({ callers, host }: World, operation: Operation, tenant: Tenant, random: Random): Header[] {
  const token = tokenOf(callers, operation, tenant);
  const headers: Header[] = [['Host', host]];
  if (operation.access !== 'public') headers.push(['Authorization', `Bearer ${token}`]);
  if (operation.body !== null) headers.push(['Content-Type', 'application/json']);
  const takesKey = operation.parameters.some(({ in: place, name }) => place === 'header' && name === 'Idempotency-Key');
  if (takesKey && random.chance(0.3)) headers.push(['Idempotency-Key', `key-${random.below(200)}`]);
  return headers;
}

/** Which parameter of a list takes what its answers say to go on with. */
export const cursorName = (operation: string): string => (operation === 'listEndedJobs' ? 'after' : 'cursor');

function queryOf(
  { memory, checker }: World,
  { id, parameters }: Operation,
  tenant: Tenant,
  random: Random,
): Blank['query'] {
  const own = memory.cursors.filter((known) => known.tenant === tenant && known.operation === id);
  const cursor = cursorName(id);
  if (own.length > 0 && random.chance(0.2)) return [[cursor, random.pick(own).cursor]];
  return parameters
    .filter(({ in: place, name }) => place === 'query' && name !== cursor)
    .filter(({ name }) => name === 'expr' || random.chance(0.25))
    .map((parameter) => [parameter.name, queryValue(id, parameter, checker, random)]);
}

function queryValue(
  operation: string,
  { name, schema: given }: Parameter,
  checker: SchemaChecker,
  random: Random,
): string {
  const schema = typeof given.$ref === 'string' ? checker.resolve(given.$ref) : given;
  if (name === 'queue' || name === 'queue_name') return random.pick(QUEUES);
  if (name === 'task' || name === 'task_name') return random.pick(TASKS);
  if (name === 'error') return random.pick(['failed', 'it broke', '%_\\']);
  if (name === 'fingerprint') return random.uuid().replaceAll('-', '').slice(0, 16);
  if (name === 'job_id' || name === 'workflow_id' || name === 'parent_job_id')
    return random.chance(0.8) ? random.uuid() : random.word();
  // Of workflows it has an enumeration.
  if (name === 'status' && schema.enum === undefined) return random.pick(operation === 'listEndedJobs' ? ENDS : STATES);
  if (name === 'wait_secs') return random.pick(['0', '-1', '1']);
  // Where a page of log lines ended: an attempt, and a line of it.
  if (name === 'after') return `${random.integer(1, 3)}.${random.below(50)}`;
  if (name === 'expr') return random.pick(EXPRESSIONS);
  if (name === 'timezone') return random.pick(ZONES);
  if (Array.isArray(schema.enum)) return String(random.pick(schema.enum));
  // Of two that bound a range, this one comes first.
  if (schema.format === 'date-time')
    return /^(from|.*_after)$/.test(name) ? '2020-01-01T00:00:00Z' : '2100-01-01T00:00:00.123456+02:00';
  if (schema.type === 'boolean') return random.pick(['true', 'false']);
  return String(random.integer(0, 120));
}

/** The target of the request line: path and query. */
export function targetOf({ path, query }: Blank): string {
  if (query.length === 0) return path;
  const pairs = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `${path}?${pairs.join('&')}`;
}

export function draftOf(blank: Blank): Draft {
  return {
    method: blank.operation.method,
    target: targetOf(blank),
    version: '1.1',
    headers: blank.headers,
    body: blank.body === undefined ? null : Buffer.from(print(blank.body)),
  };
}

export function caseOf(blank: Blank, kind: string, draft = draftOf(blank), more: Partial<Case> = {}): Case {
  const { operation, tenant } = blank;
  const { access } = operation;
  const caller = access === 'worker' || access === 'admin' ? access : access === 'public' ? 'nobody' : tenant;
  return { operation, caller, kind, draft, isRouted: true, ...more };
}
