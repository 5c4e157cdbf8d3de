import { Type, type Static } from 'typebox';
import { listQueryFields, warnings } from './common.js';
import { instant, nullable, oneOf, ref } from './schema.js';

/** What operators do that is recorded. */
export const AUDIT_ACTIONS = ['pause_queue', 'resume_queue', 'set_queue', 'read_tenant'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** How many entries are kept. */
export const AUDIT_KEPT = 10_000;

const state = (description: string) =>
  nullable(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true, description }));

export const AuditEntry = Type.Object(
  {
    at: instant({ description: 'When it was done.' }),
    action: oneOf(AUDIT_ACTIONS, {
      description:
        'What was done: a queue was paused, resumed, or had its settings changed, or a tenant was read as. Of the ' +
        'reads, the first of an operator, a tenant and an hour is recorded.',
    }),
    target: Type.String({ description: 'The queue or, of reads, the tenant.' }),
    by: Type.String({ description: "Who did it: the name of an operator's token, or `admin`." }),
    request_id: Type.String({ description: 'The `X-Request-Id` of the request.' }),
    before: state('How it was before: the pause, or the settings; null if there was none, and of reads.'),
    after: state('How it was afterwards.'),
  },
  {
    $id: 'AuditEntry',
    examples: [
      {
        at: '2026-01-31T09:00:00.123456Z',
        action: 'pause_queue',
        target: 'emails',
        by: 'ada',
        request_id: 'Zr9QxA-1f',
        before: null,
        after: { paused_at: '2026-01-31T09:00:00.123456Z', paused_reason: 'provider is down', paused_by: 'ada' },
      },
    ],
  },
);
export type AuditEntry = Static<typeof AuditEntry>;

/** The page of the log. */
export const AuditQuery = Type.Object({ limit: listQueryFields.limit, cursor: listQueryFields.cursor });

export const AuditPage = Type.Object(
  {
    entries: Type.Array(ref(AuditEntry), { description: 'The newest first.' }),
    has_more: Type.Boolean({ description: 'Whether another page follows.' }),
    next_cursor: Type.Optional(Type.String({ description: 'Pass it as `cursor` to get the next page.' })),
    warnings,
  },
  { $id: 'AuditPage', description: `What operators did, the last ${AUDIT_KEPT} entries.` },
);
export type AuditPage = Static<typeof AuditPage>;
