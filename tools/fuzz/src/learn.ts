import type { Answer } from './answer.js';
import type { Case } from './draft.js';
import type { Violation } from './oracle.js';
import type { Outcome } from './raw-client.js';
import type { Kind, Tenant } from './tenants.js';
import type { World } from './valid.js';

/** Remembers ids, leases and cursors from answers for later requests, and notices an id that changes its owner. */
export function learn(world: World, testCase: Case, outcome: Outcome): Violation[] {
  if (outcome.kind !== 'answered' || !testCase.isRouted) return [];
  const [answer] = outcome.answers;
  if (answer === undefined || answer.status >= 300 || answer.isOpen) return [];
  const body = parsed(answer);
  if (body === null) return [];
  if (testCase.caller === 'worker') return learnLeases(world, body);
  return testCase.caller === 'nobody' || testCase.caller === 'admin'
    ? []
    : learnIds(world, testCase, testCase.caller, body);
}

type Body = Readonly<Record<string, unknown>>;

function parsed({ body }: Answer): Body | null {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null ? (value as Body) : null;
  } catch {
    return null;
  }
}

/** Where answers contain ids of each kind: alone, in an array, or as the `id` of the items of an array. */
const ALONE: readonly (readonly [string, Kind])[] = [
  ['job_id', 'jobs'],
  ['workflow_id', 'workflows'],
  ['cron_id', 'cron'],
  ['operation_id', 'operations'],
];
const LISTED: readonly (readonly [string, Kind])[] = [
  ['job_ids', 'jobs'],
  ['jobs', 'jobs'],
  ['workflows', 'workflows'],
  ['crons', 'cron'],
  ['dead_letters', 'dlq'],
  ['operations', 'operations'],
];

function learnIds({ memory }: World, { operation, draft }: Case, tenant: Tenant, body: Body): Violation[] {
  const next = operation.id === 'listEndedJobs' ? body.next : body.next_cursor;
  for (const cursor of [next, body.prev_cursor]) {
    // One of another order is good for that order alone.
    if (typeof cursor === 'string' && !draft.target.includes('order_by'))
      memory.learnCursor(tenant, operation.id, cursor);
  }
  // A record has an `id` besides its `workflow_id`; only the answer to a creation has just one of these.
  const alone = 'id' in body ? [] : ALONE.flatMap(([key, kind]) => idsIn([body[key]], kind));
  const listed = LISTED.flatMap(([key, kind]) => (Array.isArray(body[key]) ? idsIn(body[key] as unknown[], kind) : []));
  const foreign = [...alone, ...listed].filter(([kind, id]) => !memory.learn(kind, tenant, id));
  return foreign.map(([kind, id]) => ({ rule: 'crossing', detail: `${kind} ${id} belongs to another tenant` }));
}

function idsIn(items: readonly unknown[], kind: Kind): (readonly [Kind, string])[] {
  return items
    .map((item) => (typeof item === 'object' && item !== null ? (item as { id?: unknown }).id : item))
    .filter((id) => typeof id === 'string' || typeof id === 'number')
    .map((id) => [kind, String(id)] as const);
}

interface LeasedJob {
  readonly job: { readonly id: string; readonly tenant_id: string };
  readonly lease_token: string;
}

function learnLeases({ memory, callers }: World, { jobs }: Body): Violation[] {
  if (!Array.isArray(jobs)) return [];
  return (jobs as LeasedJob[]).flatMap(({ job, lease_token: token }) => {
    const owner = callers.tenants.find(({ name }) => name === job.tenant_id);
    if (owner === undefined) return [{ rule: 'crossing', detail: `job ${job.id} belongs to an unknown tenant` }];
    memory.learnLease({ id: job.id, token, mark: owner.mark });
    const known = memory.learn('jobs', owner, job.id);
    return known ? [] : [{ rule: 'crossing', detail: `job ${job.id} changed its tenant` }];
  });
}
