import { JOB_STATUSES, type JobStatus } from '@millrace/contract';
import { EVENT_MEANINGS, isTerminal, JOB_EVENTS, nextState, TRANSITIONS } from '../../src/domain/job-state.js';

const MEANINGS: Readonly<Record<JobStatus, string>> = {
  pending: 'waiting for its time or for a worker; it has never failed',
  retrying: 'waiting for the end of its backoff or for a worker; it has failed before',
  running: 'held by one worker under one lease token',
  completed: 'finished: the handler succeeded',
  failed: 'finished: it failed permanently; a dead letter says why',
  cancelled: 'finished: its tenant cancelled it',
};

const TABLES: Readonly<Record<JobStatus, string>> = {
  pending: 'ready',
  retrying: 'ready',
  running: 'leases` or `bundles',
  completed: 'done',
  failed: 'done',
  cancelled: 'done',
};

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
const code = (text: string): string => `\`${text}\``;

/** Field names and reasons as code; the prose of the table stays as it is. */
const marked = (text: string): string => text.replace(/\b([a-z]+_[a-z_]+)\b/g, '`$1`').replace(/^result\b/, '`result`');

interface Arrow {
  readonly event: string;
  readonly from: JobStatus;
  readonly to: JobStatus;
  readonly also: string;
}

const arrows: readonly Arrow[] = JOB_EVENTS.flatMap((event) =>
  JOB_STATUSES.flatMap((from) => {
    const transition = TRANSITIONS[event][from];
    return transition ? [{ event, from, ...transition }] : [];
  }),
);

function diagram(): string {
  const edges = new Map<string, string[]>();
  for (const { event, from, to } of arrows) {
    const edge = `${from} --> ${to}`;
    edges.set(edge, [...(edges.get(edge) ?? []), event]);
  }
  return [
    '```mermaid',
    'stateDiagram-v2',
    '  [*] --> pending: create',
    ...[...edges].map(([edge, events]) => `  ${edge}: ${events.join(', ')}`),
    ...JOB_STATUSES.filter(isTerminal).map((status) => `  ${status} --> [*]`),
    '```',
  ].join('\n');
}

const states = (): string =>
  table(
    ['state', 'a job in it is', 'its row is in'],
    JOB_STATUSES.map((status) => [code(status), MEANINGS[status], code(TABLES[status])]),
  );

const events = (): string =>
  table(
    ['event', 'what happened'],
    JOB_EVENTS.map((event) => [code(event), marked(EVENT_MEANINGS[event])]),
  );

const transitions = (): string =>
  table(
    ['event', 'from', 'to', 'in the same transaction'],
    arrows.map(({ event, from, to, also }) => [code(event), code(from), code(to), marked(also)]),
  );

const matrix = (): string =>
  table(
    ['', ...JOB_STATUSES.map(code)],
    JOB_EVENTS.map((event) => [code(event), ...JOB_STATUSES.map((from) => nextState(from, event) ?? '·')]),
  );

export const stateMachineText =
  (): string => `<!-- Written by \`npm run docs\` from packages/server/src/domain/job-state.ts; a test compares. -->

# The life of a job

${diagram()}

A job is created \`pending\`. It can be claimed at once or, with \`run_at\`, later: there is no separate state for a
scheduled job. \`completed\`, \`failed\` and \`cancelled\` are final; nothing leads out of them.

## States

${states()}

## Events

${events()}

## Transitions

${transitions()}

## All other events change nothing

Each state under each event. A dot means that nothing happens: a stale report is refused with 409 \`lease_lost\`, a
report on a job that has ended gets 204 and has no effect, and cancelling such a job is refused with 409
\`already_finished\`.

${matrix()}

Every claim makes a new token, and a report is accepted only under the current token, checked by the statement that
acts. So a worker that has lost its lease can no longer touch the job, whatever it believes. A test brings a job into
each of these states and applies each of these events to it, on a real database.
`;
