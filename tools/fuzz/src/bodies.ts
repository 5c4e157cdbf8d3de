import type { Random } from '@millrace/tools-shared';
import { generate, TASKS } from './generate.js';
import { graph, withoutTask, workflowOf } from './graphs.js';
import type { Json, JsonObject } from './json.js';
import type { Operation } from './openapi.js';
import type { Schema, SchemaChecker } from './schema.js';
import type { Lease, Memory, Tenant } from './tenants.js';

/** What bodies are made from. */
interface Known {
  readonly checker: SchemaChecker;
  readonly memory: Memory;
}

/** A body that fits its schema, and the rules between fields that the schema does not tell. */
export function bodyOf(
  world: Known,
  { id, body }: Operation,
  tenant: Tenant,
  lease: Lease | undefined,
  random: Random,
): Json {
  const mark = lease !== undefined && body !== null && takesLease(world, body) ? lease.mark : tenant.mark;
  const made = generate(world.checker, body ?? {}, { random, mark, name: '' });
  switch (id) {
    case 'createWorkflow':
      return { ...(made as JsonObject), steps: graph(world.checker, random, mark) };
    case 'waitForJobs':
      return { ...(made as JsonObject), job_ids: awaited(world, tenant, random), wait_secs: 0 };
    case 'putCron':
      // The name is in the path.
      return { ...schedule(world, made as JsonObject, random, mark), name: null };
    case 'createCron':
      return { ...schedule(world, made as JsonObject, random, mark), name: `${mark} ${random.word()}` };
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

/** Of a job or of a workflow, and then it says nothing about jobs. */
function schedule({ checker }: Known, made: JsonObject, random: Random, mark: string): JsonObject {
  if (random.chance(0.7)) return { ...made, task_name: random.pick(TASKS), workflow: null };
  return { ...withoutTask(made), workflow: workflowOf(checker, random, mark) };
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
function awaited({ memory }: Known, tenant: Tenant, random: Random): Json {
  const known = memory.ids('jobs', tenant);
  const someId = (): string => (known.length > 0 && random.chance(0.7) ? random.pick(known) : random.uuid());
  return Array.from({ length: random.integer(1, 5) }, () => (random.chance(0.1) ? random.word() : someId()));
}

/** On one queue only, and mostly to be told what would happen: the other requests need jobs that are left alone. */
function bulkOperation({ memory }: Known, tenant: Tenant, random: Random): Json {
  const cancels = random.chance(0.5);
  const known = memory.ids(cancels ? 'jobs' : 'dlq', tenant);
  const filter = cancels
    ? { queue: 'fuzz-b', ...(random.chance(0.5) && { status: 'pending,retrying', task: random.pick(TASKS) }) }
    : { queue_name: 'fuzz-b', ...(random.chance(0.5) && { replayed: false, reason: 'non_retryable' }) };
  return {
    action: cancels ? random.pick(['cancel_jobs', 'run_jobs_now', 'rerun_jobs']) : 'replay_dead_letters',
    ...(known.length > 0 && random.chance(0.3) ? { ids: [random.pick(known)] } : { filter }),
    dry_run: random.chance(0.7),
  };
}

const takesLease = ({ checker }: Known, body: Schema): boolean => {
  const schema = typeof body.$ref === 'string' ? checker.resolve(body.$ref) : body;
  return ['lease_token', 'leases', 'reports'].some((name) => Object.hasOwn(schema.properties ?? {}, name));
};

/** The items of a call for many jobs, all about the job of this lease: a call may name a job more than once. */
function underLease(made: Json, field: string, lease: Lease | undefined): Json {
  const items = (made as JsonObject)[field] as JsonObject[];
  return lease === undefined ? items : items.map((item) => ({ ...item, job_id: lease.id, lease_token: lease.token }));
}
