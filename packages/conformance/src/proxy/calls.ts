import { member, parseExact, type ExactJson } from '../exact-json.js';

/** One request of the worker as it passed the proxy. Times are of the monotonic clock, in milliseconds. */
export interface Call {
  readonly at: number;
  readonly method: string;
  /** As it was sent, percent-encoding and all. */
  readonly path: string;
  readonly kind: CallKind;
  readonly body: string;
  /** What it says about single jobs: one entry for a plain call, one per member for a gathered one. */
  readonly items: readonly Item[];
  /** Null while there is none, and for good if the proxy or the worker hung up. */
  status: number | null;
  answeredAt: number | null;
  /** When the worker hung up before it was answered. */
  hungUpAt: number | null;
  /** What a lease brought. */
  leased: readonly LeasedJob[];
}

export type CallKind = 'lease' | 'heartbeat' | 'report' | 'other';
export type ItemKind = 'heartbeat' | 'complete' | 'fail' | 'release' | 'suspend';

export interface LeasedJob {
  readonly id: string;
  readonly token: string;
}

/** A heartbeat or a report on one job, whichever way it was sent. */
export interface Item {
  readonly kind: ItemKind;
  readonly jobId: string;
  readonly token: string;
  readonly at: number;
  /** The fields that came with it, without loss. */
  readonly fields: ExactJson;
  /** The status that this job alone was answered with; null if there was no answer. */
  status: number | null;
}

interface Route {
  readonly kind: CallKind;
  readonly batch?: 'leases' | 'reports';
  readonly item?: { readonly kind: ItemKind; readonly jobId: string };
}

const SINGLE = /^\/api\/v1\/jobs\/([^/]+)\/(heartbeat|complete|fail|release|suspend)$/;
const OUTCOMES: Readonly<Record<string, ItemKind>> = {
  completed: 'complete',
  failed: 'fail',
  released: 'release',
  suspended: 'suspend',
};

function routeOf(method: string, path: string): Route {
  if (method !== 'POST') return { kind: 'other' };
  if (/^\/api\/v1\/queues\/[^/]+\/lease$/.test(path)) return { kind: 'lease' };
  if (path === '/api/v1/heartbeats') return { kind: 'heartbeat', batch: 'leases' };
  if (path === '/api/v1/reports') return { kind: 'report', batch: 'reports' };
  const [, jobId, action] = SINGLE.exec(path) ?? [];
  if (jobId === undefined || action === undefined) return { kind: 'other' };
  const kind = action as ItemKind;
  return { kind: kind === 'heartbeat' ? 'heartbeat' : 'report', item: { kind, jobId } };
}

/** Whether the call is about several jobs, and the member of its body that lists them. */
export const batchOf = (call: Pick<Call, 'method' | 'path'>): 'leases' | 'reports' | undefined =>
  routeOf(call.method, call.path).batch;

export function readCall(method: string, path: string, body: string, at: number): Call {
  const route = routeOf(method, path);
  return {
    at,
    method,
    path,
    kind: route.kind,
    body,
    items: readItems(route, body, at),
    status: null,
    answeredAt: null,
    hungUpAt: null,
    leased: [],
  };
}

function readItems(route: Route, body: string, at: number): Item[] {
  const fields = parsed(body);
  if (fields === null) return [];
  if (route.item !== undefined) return [itemFrom(route.item.kind, route.item.jobId, fields, at)];
  if (route.batch === undefined) return [];
  const list = member(fields, route.batch);
  if (!Array.isArray(list)) return [];
  return (list as readonly ExactJson[]).map((each) => {
    const kind = route.batch === 'leases' ? 'heartbeat' : (OUTCOMES[textOf(each, 'outcome')] ?? 'fail');
    return itemFrom(kind, textOf(each, 'job_id'), each, at);
  });
}

const itemFrom = (kind: ItemKind, jobId: string, fields: ExactJson, at: number): Item => ({
  kind,
  jobId,
  token: textOf(fields, 'lease_token'),
  at,
  fields,
  status: null,
});

/** The text of a member, or nothing. */
export function textOf(value: ExactJson, key: string): string {
  const text = member(value, key);
  return typeof text === 'string' ? text : '';
}

function parsed(body: string): ExactJson | null {
  try {
    return parseExact(body);
  } catch {
    return null;
  }
}

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  invalid_request: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  lease_lost: 409,
  conflict: 409,
  payload_too_large: 413,
  unavailable: 503,
};

/** Notes an answer in the record of its call. */
export function noteAnswer(call: Call, status: number, answer: string, at: number): void {
  call.status = status;
  call.answeredAt = at;
  const batch = call.items.length === 0 ? undefined : batchOf(call);
  if (batch === undefined) for (const item of call.items) item.status = status;
  else noteEach(call, status, answer, batch);
  if (call.kind === 'lease' && status === 200) call.leased = leasedJobs(answer);
}

function noteEach(call: Call, status: number, answer: string, batch: string): void {
  const results = status === 200 ? (JSON.parse(answer) as Record<string, { code?: string }[]>)[batch] : undefined;
  call.items.forEach((item, index) => {
    const code = results?.[index]?.code;
    const good = item.kind === 'heartbeat' ? 200 : 204;
    item.status = status !== 200 ? status : code === undefined ? good : (STATUS_OF_CODE[code] ?? 500);
  });
}

function leasedJobs(answer: string): LeasedJob[] {
  const { jobs } = JSON.parse(answer) as { jobs: { job: { id: string }; lease_token: string }[] };
  return jobs.map(({ job, lease_token: token }) => ({ id: job.id, token }));
}
