import { Type, type Static } from 'typebox';
import { WAIT_LIMITS } from './job-insight.js';
import { callerObject, instant, oneOf, optional, ref } from './schema.js';

/** What handlers write while they run, kept with the attempt. */

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** Lines that one call may bring for one job; those beyond are left out, and a line says how many. */
export const LOG_LINES_PER_CALL = 100;
/** Longer messages and fields are cut, never refused: losing a report would cost more than losing their tail. */
export const LOG_MESSAGE_MAX_BYTES = 8_192;
export const LOG_FIELDS_MAX_BYTES = 4_096;
/** Kept of one attempt, half of it for the first lines and half for the last ones. */
export const LOG_ATTEMPT_BYTES = 65_536;
/** What a line counts for beside its message and its fields. */
export const LOG_LINE_BYTES = 32;
/** Attempts whose lines are kept: the first ones and the last ones. */
export const LOG_ATTEMPTS_KEPT = { first: 10, last: 10 } as const;
/** Lines of one page. */
export const LOG_PAGE_LINES = 1_000;

const lineFields = {
  at: instant({ description: 'When it was written, by the clock of the worker.' }),
  level: oneOf(LOG_LEVELS, { description: 'How serious it is.' }),
};
const LINE = {
  ...{ at: '2026-01-31T09:00:00.123Z', level: 'info', message: 'charged the card' },
  fields: { charge: 'ch_1' },
} as const;

/** Of a heartbeat or a report. */
export const logs = optional(
  Type.Array(
    Type.Object(
      {
        ...lineFields,
        message: Type.String({
          description: `Cut at ${LOG_MESSAGE_MAX_BYTES} bytes. Characters that cannot be stored are replaced.`,
        }),
        fields: optional(
          callerObject({
            description: `Structured data. Beyond ${LOG_FIELDS_MAX_BYTES} bytes, its beginning is kept as text.`,
          }),
        ),
      },
      { title: 'NewLogLine', examples: [LINE] },
    ),
    {
      maxItems: LOG_LINES_PER_CALL,
      description:
        'What the handler has written since the last call: kept with the attempt if the lease is still held, and ' +
        'shown by `GET /jobs/{id}/logs`. Lines beyond the limit are left out, never refused.',
    },
  ),
);
export type NewLogLine = NonNullable<Static<typeof logs>>[number];

export const JobLogsQuery = Type.Object({
  attempt: Type.Optional(Type.Integer({ minimum: 1, description: 'Only lines of this attempt.' })),
  after: Type.Optional(Type.String({ description: 'The `next` of the page before.' })),
  wait_secs: Type.Optional(
    Type.Integer({
      ...WAIT_LIMITS,
      description:
        'If there are no lines after `after` yet, wait for some, or for the end of the job, this many seconds at most.',
    }),
  ),
});

export const LogLine = Type.Object(
  {
    attempt: Type.Integer({ description: 'The delivery that wrote it; 1 for the first.' }),
    seq: Type.Integer({
      description: 'Its number within the attempt, from 1. A gap is where lines were not kept.',
    }),
    ...lineFields,
    message: Type.String({ description: 'The message.' }),
    fields: Type.Optional(callerObject({ description: 'As they were sent.' })),
  },
  { $id: 'LogLine', description: 'A line that a handler wrote.', examples: [{ attempt: 1, seq: 1, ...LINE }] },
);
export type LogLine = Static<typeof LogLine>;

export const JobLogs = Type.Object(
  {
    lines: Type.Array(ref(LogLine), { description: 'By attempt, then by number.' }),
    omitted: Type.Integer({
      description:
        `How many lines were not kept, of the whole log that was asked for. Kept are ${LOG_ATTEMPT_BYTES} bytes per ` +
        `attempt, the first and the last half, of the first ${LOG_ATTEMPTS_KEPT.first} and the last ` +
        `${LOG_ATTEMPTS_KEPT.last} attempts that wrote anything.`,
    }),
    next: Type.Optional(
      Type.String({
        description: 'Pass it as `after` to continue. Absent: the job has ended, and there are no more lines.',
      }),
    ),
  },
  { $id: 'JobLogs' },
);
export type JobLogs = Static<typeof JobLogs>;
