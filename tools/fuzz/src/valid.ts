import type { Random } from '@millrace/tools-shared';
import type { Case, Draft, Header } from './draft.js';
import { print, type Json, type JsonObject } from './json.js';
import type { Operation, Parameter } from './openapi.js';
import type { Schema, SchemaChecker } from './schema.js';
import type { Callers, Kind, Lease, Memory, Tenant } from './tenants.js';
import { plainObject } from './values.js';

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

const TASKS = ['echo', 'echo', 'fail', 'log', 'sleep', 'remote-task', 'another task'];
const QUEUES = ['default', 'fuzz-a', 'fuzz-b', 'weird/queue %'];
const STATES = ['pending', 'failed,cancelled', 'completed, running', 'retrying,retrying,pending'];
const ZONES = ['UTC', 'Europe/Berlin', 'america/new_york', 'Asia/Kathmandu'];
const EXPRESSIONS = ['0 3 * * *', '*/5 * * * *', '0 0 1 1 *', '@daily', '30 0 0 * * 1', '0 0 0 1 1 * 2099'];

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

function queryOf(
  { memory, checker }: World,
  { id, parameters }: Operation,
  tenant: Tenant,
  random: Random,
): Blank['query'] {
  const own = memory.cursors.filter((known) => known.tenant === tenant && known.operation === id);
  if (own.length > 0 && random.chance(0.2)) return [['cursor', random.pick(own).cursor]];
  return parameters
    .filter(({ in: place, name }) => place === 'query' && name !== 'cursor')
    .filter(({ name }) => name === 'expr' || random.chance(0.25))
    .map((parameter) => [parameter.name, queryValue(parameter, checker, random)]);
}

function queryValue({ name, schema: given }: Parameter, checker: SchemaChecker, random: Random): string {
  const schema = typeof given.$ref === 'string' ? checker.resolve(given.$ref) : given;
  if (name === 'queue' || name === 'queue_name') return random.pick(QUEUES);
  if (name === 'task' || name === 'task_name') return random.pick(TASKS);
  if (name === 'fingerprint') return random.uuid().replaceAll('-', '').slice(0, 16);
  if (name === 'job_id' || name === 'workflow_id' || name === 'parent_job_id')
    return random.chance(0.8) ? random.uuid() : random.word();
  // Of workflows it has an enumeration.
  if (name === 'status' && schema.enum === undefined) return random.pick(STATES);
  if (name === 'wait_secs') return random.pick(['0', '-1', '1']);
  if (name === 'expr') return random.pick(EXPRESSIONS);
  if (name === 'timezone') return random.pick(ZONES);
  if (Array.isArray(schema.enum)) return String(random.pick(schema.enum));
  // Of two that bound a range, this one comes first.
  if (schema.format === 'date-time')
    return /^(from|.*_after)$/.test(name) ? '2020-01-01T00:00:00Z' : '2100-01-01T00:00:00.123456+02:00';
  if (schema.type === 'boolean') return random.pick(['true', 'false']);
  return String(random.integer(0, 120));
}

function bodyOf(world: World, { id, body }: Operation, tenant: Tenant, lease: Lease | undefined, random: Random): Json {
  const mark = lease !== undefined && body !== null && takesLease(world, body) ? lease.mark : tenant.mark;
  const made = generate(world, body ?? {}, { random, mark, name: '' });
  switch (id) {
    case 'createWorkflow':
      return { ...(made as JsonObject), steps: graph(world, random, mark) };
    case 'waitForJobs':
      return { ...(made as JsonObject), job_ids: awaited(world, tenant, random), wait_secs: 0 };
    case 'putCron':
      // The name is in the path.
      return { ...(made as JsonObject), name: null };
    case 'createCron':
      return { ...(made as JsonObject), name: `${mark} ${random.word()}` };
    case 'heartbeatJobs':
      return { ...(made as JsonObject), leases: underLease(made, 'leases', lease) };
    case 'reportJobs':
      return { ...(made as JsonObject), reports: underLease(made, 'reports', lease) };
    case 'suspendJob':
      // An instant or a delay, and a year ahead at most.
      return {
        ...{
          ...(made as JsonObject),
          until: null,
          delay_secs: random.integer(0, 60),
          wait: waitOf(made as JsonObject),
        },
        ...(lease !== undefined && { lease_token: lease.token }),
      };
    case 'resumeWorkflow':
      // What its steps are called is not known here.
      return { ...(made as JsonObject), steps: null };
    case 'createChildren':
      return { ...underToken(made as JsonObject, lease), jobs: namedApart(made as JsonObject) };
    case 'createOperation':
      return bulkOperation(world, tenant, random);
    case 'leaseJobs':
      return { ...(made as JsonObject), wait_secs: 0 };
    default:
      return lease !== undefined && 'lease_token' in (made as JsonObject)
        ? { ...(made as JsonObject), lease_token: lease.token }
        : made;
  }
}

const underToken = (made: JsonObject, lease: Lease | undefined): JsonObject =>
  lease === undefined ? made : { ...made, lease_token: lease.token };

/** For a signal or for nothing: children would have to exist. */
function waitOf({ wait }: JsonObject): Json {
  const { signal, ask = null } = (wait ?? {}) as JsonObject;
  return signal === undefined || signal === null ? null : { signal, ask };
}

/** A parent has one child of a name, and no other rule makes it the only one. */
const namedApart = ({ jobs }: JsonObject): Json =>
  (jobs as JsonObject[]).map((job, n) => ({
    ...job,
    ...{ name: `${n}`, detached: n % 2 === 0 },
    ...('config' in job && { config: { ...(job.config as JsonObject), unique: null } }),
  }));

/** Jobs of the tenant's, and ids that name none. */
function awaited({ memory }: World, tenant: Tenant, random: Random): Json {
  const known = memory.ids('jobs', tenant);
  const someId = (): string => (known.length > 0 && random.chance(0.7) ? random.pick(known) : random.uuid());
  return Array.from({ length: random.integer(1, 5) }, () => (random.chance(0.1) ? random.word() : someId()));
}

/** On one queue only, and mostly to be told what would happen: the other requests need jobs that are left alone. */
function bulkOperation({ memory }: World, tenant: Tenant, random: Random): Json {
  const cancels = random.chance(0.5);
  const known = memory.ids(cancels ? 'jobs' : 'dlq', tenant);
  const filter = cancels
    ? { queue: 'fuzz-b', ...(random.chance(0.5) && { status: 'pending,retrying', task: random.pick(TASKS) }) }
    : { queue_name: 'fuzz-b', ...(random.chance(0.5) && { replayed: false, reason: 'non_retryable' }) };
  return {
    action: cancels ? 'cancel_jobs' : 'replay_dead_letters',
    ...(known.length > 0 && random.chance(0.3) ? { ids: [random.pick(known)] } : { filter }),
    dry_run: random.chance(0.7),
  };
}

const takesLease = ({ checker }: World, body: Schema): boolean => {
  const schema = typeof body.$ref === 'string' ? checker.resolve(body.$ref) : body;
  return ['lease_token', 'leases', 'reports'].some((name) => Object.hasOwn(schema.properties ?? {}, name));
};

/** The items of a call for many jobs, all about the job of this lease: a call may name a job more than once. */
function underLease(made: Json, field: string, lease: Lease | undefined): Json {
  const items = (made as JsonObject)[field] as JsonObject[];
  return lease === undefined ? items : items.map((item) => ({ ...item, job_id: lease.id, lease_token: lease.token }));
}

/** Steps depend only on earlier ones, so that there is no cycle. */
function graph(world: World, random: Random, mark: string): Json {
  const schema = world.checker.resolve('#/components/schemas/WorkflowStepInput');
  return Array.from({ length: random.integer(1, 5) }, (_, i) => ({
    ...(generate(world, schema, { random, mark, name: '' }) as JsonObject),
    name: `step-${i}`,
    depends_on: Array.from({ length: i }, (_, j) => `step-${j}`).filter(() => random.chance(0.4)),
  }));
}

interface Making {
  readonly random: Random;
  readonly mark: string;
  /** The name of the field: some have a meaning that the schema does not tell. */
  readonly name: string;
}

/** A value that fits a schema. Each optional member is included about half of the time. */
function generate(world: World, schema: Schema, making: Making): Json {
  const { random, mark } = making;
  if (typeof schema.$ref === 'string') return generate(world, world.checker.resolve(schema.$ref), making);
  const known = wellKnown(making);
  if (known !== undefined) return known;
  if (Array.isArray(schema.enum)) return random.pick(schema.enum as Json[]);
  if (Array.isArray(schema.anyOf)) return generate(world, random.pick(schema.anyOf as Schema[]), making);
  const [type] = [schema.type].flat();
  switch (type) {
    case 'object':
      return schema.properties === undefined ? plainObject(random, mark) : objectOf(world, schema, making);
    case 'array':
      return Array.from({ length: random.integer(1, 3) }, () =>
        generate(world, (schema.items ?? {}) as Schema, making),
      );
    case 'integer':
      return random.integer(Number(schema.minimum ?? 0), Math.min(Number(schema.maximum ?? 60), 1000));
    case 'number':
      return random.next();
    case 'boolean':
      return random.chance(0.5);
    case 'string':
      if (schema.format === 'date-time') return random.pick(['2026-01-31T09:00:00Z', '2099-12-31T23:59:59.5+05:30']);
      return `${mark} ${random.word()}`;
    default:
      return null;
  }
}

function wellKnown({ random, name }: Making): Json | undefined {
  switch (name) {
    case 'task_name':
      return random.pick(TASKS);
    case 'queue':
      return random.pick(QUEUES);
    case 'cron_expr':
      return random.pick(EXPRESSIONS);
    case 'timezone':
      return random.pick(ZONES);
    case 'lease_token':
      return random.uuid();
    case 'idempotency_key':
      return `key-${random.below(200)}`;
    case 'limits':
      return [{ key: `limit-${random.below(5)}`, running: random.integer(1, 10) }];
    case 'unique':
      return { key: `unique-${random.below(5)}`, while: random.pick(['waiting', 'unfinished']) };
    case 'expires_secs':
      // After any delay.
      return random.integer(2_000, 3_000);
    case 'expires_at':
      return '9999-12-31T00:00:00Z';
    case 'worker_id':
      // Of nobody's mark: it is shown on the jobs of every tenant.
      return `worker-${random.below(5)}`;
    default:
      return undefined;
  }
}

function objectOf(world: World, schema: Schema, making: Making): Json {
  const required = (schema.required ?? []) as string[];
  const members = Object.entries(schema.properties as Record<string, Schema>)
    .filter(([name]) => required.includes(name) || making.random.chance(0.5))
    .map(([name, inner]) => [name, generate(world, inner, { ...making, name })] as const);
  const made = Object.fromEntries(members);
  // Two ways to say one thing, of which a request takes one.
  if ('expires_at' in made && 'expires_secs' in made) return { ...made, expires_at: null };
  return 'run_at' in made && 'delay_secs' in made ? { ...made, run_at: null } : made;
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
