import { MillraceError } from '../../errors/call-errors.js';
import type { Transport } from '../../http/transport.js';
import type { ReportsResponse } from '../../wire/index.js';
import type { BufferedLine } from '../../shared/log-buffer.js';
import type { Lease } from '../leases/lease-cells.js';
import type { Outcome } from './outcome.js';
import type { AssumedFeatures } from '../calls/assumed-features.js';
import { eachOf, isUnknownRoute, retryAfterMs } from '../calls/calls.js';

/** What became of a report. */
export type ReportAnswer =
  | { readonly kind: 'accepted' }
  /** The job is no longer ours, or gone. */
  | { readonly kind: 'lost' }
  /** The server does not take it, and will not. */
  | { readonly kind: 'refused'; readonly why: string }
  /** No answer that counts. */
  | { readonly kind: 'unanswered'; readonly retryAfterMs: number | null };

export interface Sendable {
  readonly lease: Lease;
  readonly outcome: Outcome;
  /** What its handler wrote and has not been sent yet. */
  readonly logs: readonly BufferedLine[];
  /** The span that the run was, if it is traced. */
  readonly traceparent?: string | undefined;
}

/** Plain reports in flight at a time, against a server that takes them one by one. */
const PLAIN_AT_ONCE = 16;

/** Sends reports, gathered if the server takes them so; never rejects. Answers in the order of the reports. */
export async function sendReports(
  transport: Transport,
  features: AssumedFeatures,
  reports: readonly Sendable[],
): Promise<ReportAnswer[]> {
  if (features.has('reports')) {
    const answers = await gathered(transport, features, reports);
    if (answers !== null) return answers;
  }
  const answers = new Map<Sendable, ReportAnswer>();
  await eachOf(reports, PLAIN_AT_ONCE, async (report) => {
    answers.set(report, await plain(transport, features, report));
  });
  return reports.map((report) => answers.get(report) ?? { kind: 'unanswered', retryAfterMs: null });
}

/** Null if the server does not know the route. */
async function gathered(
  transport: Transport,
  features: AssumedFeatures,
  reports: readonly Sendable[],
): Promise<ReportAnswer[] | null> {
  const bodyText = `{"reports":[${reports.map(gatheredText).join()}]}`;
  try {
    const { body } = await transport.call<ReportsResponse>({ method: 'POST', path: '/reports', bodyText });
    return reports.map((_, index) => {
      const { ok, code, error } = body.reports[index] ?? {};
      return ok === true ? { kind: 'accepted' } : judge(code, error ?? code ?? 'no reason given');
    });
  } catch (error) {
    if (isUnknownRoute(error)) {
      features.lacks('reports');
      return null;
    }
    const answer = judgeError(error);
    // One of several may have spoilt the call for all; each is sent by itself to find out which.
    if (answer.kind === 'refused' && reports.length > 1) {
      const each = await Promise.all(reports.map((report) => gathered(transport, features, [report])));
      return each.map((answers) => answers?.[0] ?? { kind: 'unanswered', retryAfterMs: null });
    }
    return reports.map(() => answer);
  }
}

async function plain(
  transport: Transport,
  features: AssumedFeatures,
  { lease, outcome, logs }: Sendable,
): Promise<ReportAnswer> {
  const token = JSON.stringify(lease.token);
  const sent = features.has('release') || outcome.kind !== 'released' ? outcome : givenBack(outcome);
  try {
    await transport.call({
      method: 'POST',
      path: `/jobs/${encodeURIComponent(lease.jobId)}/${ACTIONS[sent.kind]}`,
      bodyText: `{"lease_token":${token}${fieldsText(sent)}${logsText(logs)}}`,
    });
    return { kind: 'accepted' };
  } catch (error) {
    return judgeError(error);
  }
}

const ACTIONS = { completed: 'complete', failed: 'fail', released: 'release', suspended: 'suspend' } as const;

/** A server that cannot take a job back for free has it failed, to be tried again. */
const givenBack = ({ delaySecs }: Extract<Outcome, { kind: 'released' }>): Outcome => ({
  kind: 'failed',
  error:
    delaySecs === undefined ? 'the worker stopped before the job ended' : 'the worker has no handler for this task',
  retryable: true,
  ...(delaySecs !== undefined && { retryAfterSecs: delaySecs }),
});

const logsText = (logs: readonly BufferedLine[]): string =>
  logs.length === 0 ? '' : `,"logs":${JSON.stringify(logs)}`;

function gatheredText({ lease, outcome, logs, traceparent }: Sendable): string {
  const [id, token] = [JSON.stringify(lease.jobId), JSON.stringify(lease.token)];
  const trace = traceparent === undefined ? '' : `,"traceparent":${JSON.stringify(traceparent)}`;
  const fields = `${fieldsText(outcome)}${logsText(logs)}${trace}`;
  return `{"job_id":${id},"lease_token":${token},"outcome":"${outcome.kind}"${fields}}`;
}

function fieldsText(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'released':
      return outcome.delaySecs === undefined ? '' : `,"delay_secs":${outcome.delaySecs}`;
    case 'suspended':
      return `,${JSON.stringify(outcome.suspension).slice(1, -1)}`;
    case 'completed':
      return `,"result":${outcome.result}`;
    case 'failed': {
      const { error, retryable, retryAfterSecs, details } = outcome;
      const fields = { error, retryable, retry_after_secs: retryAfterSecs, details };
      return `,${JSON.stringify(fields).slice(1, -1)}`;
    }
  }
}

function judgeError(error: unknown): ReportAnswer {
  if (!(error instanceof MillraceError)) return { kind: 'unanswered', retryAfterMs: null };
  const answer = judge(error.code, error.message);
  return answer.kind === 'unanswered' ? { ...answer, retryAfterMs: retryAfterMs(error) } : answer;
}

function judge(code: string | undefined, why: string): ReportAnswer {
  switch (code) {
    case 'invalid_request':
    case 'payload_too_large':
    case 'unsupported_media_type':
      return { kind: 'refused', why };
    case 'lease_lost':
    case 'not_found':
    case 'conflict':
      return { kind: 'lost' };
    default:
      return { kind: 'unanswered', retryAfterMs: null };
  }
}
