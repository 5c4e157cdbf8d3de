import { Type, type Static, type TUnsafe } from 'typebox';
import { filledText, instant, nullable, optional } from './schema.js';

/** What a suspended job waits for. */

/** The longest name of a checkpoint, a signal or the key of one, in characters. */
export const CHECKPOINT_NAME_MAX_LENGTH = 200;
/** How far ahead a job may be put to sleep: a year. */
export const SUSPEND_LIMITS = { minimum: 0, maximum: 31_536_000 } as const;
/** The longest name of a child: that of a step, and what the SDK adds to it. */
export const CHILD_NAME_MAX_LENGTH = 250;
/** Children that one call creates, or that one wait is for. */
export const CHILDREN_LIMITS = { minimum: 1, maximum: 1_000 } as const;
/** The largest question to a person, in bytes of JSON. */
export const ASK_MAX_BYTES = 16_384;

export const shortName = (description: string, examples: string[]): TUnsafe<string> =>
  filledText({ maxLength: CHECKPOINT_NAME_MAX_LENGTH, description, examples });

export const childName = (description: string): TUnsafe<string> =>
  filledText({ maxLength: CHILD_NAME_MAX_LENGTH, description, examples: ['mail'] });

export const anyJson = (description: string): TUnsafe<unknown> => Type.Unsafe<unknown>({ description });

export const Ask = Type.Object(
  {
    text: filledText({ maxLength: 4_000, description: 'The question, shown as plain text.' }),
    choices: optional(
      Type.Array(
        Type.Object({
          label: shortName('What the button says.', ['Approve']),
          value: anyJson('What the button sends as the value of the signal.'),
        }),
        { maxItems: 20, description: 'The answers to choose from.' },
      ),
    ),
  },
  {
    $id: 'Ask',
    description: `A question to a person; at most ${ASK_MAX_BYTES} bytes of JSON.`,
    examples: [{ text: 'Refund 120.00?', choices: [{ label: 'Approve', value: { approved: true } }] }],
  },
);
export type Ask = Static<typeof Ask>;

export const WaitingFor = Type.Object(
  {
    checkpoint: Type.String({ description: 'The checkpoint that ends the wait.' }),
    since: instant({ description: 'When the wait began.' }),
    until: instant({ description: 'When the job is due at the latest.' }),
    signal: nullable(Type.String({ description: 'The signal that ends it sooner, if the job waits for one.' })),
    key: nullable(Type.String({ description: 'The key of that signal.' })),
    ask: Type.Unsafe<Ask | null>({ anyOf: [{ $ref: 'Ask#' }, { type: 'null' }], description: 'The question, if any.' }),
    children: nullable(
      Type.Object(
        {
          total: Type.Integer({ description: 'How many it waits for.' }),
          unfinished: Type.Integer({ description: 'How many of those have not ended.' }),
        },
        { description: 'If the job waits for children; `GET /jobs?parent_job_id=` lists them.' },
      ),
    ),
  },
  {
    $id: 'WaitingFor',
    description: 'What a suspended job waits for; without signal and children it sleeps.',
  },
);
export type WaitingFor = Static<typeof WaitingFor>;

/** What ends a suspension. */
export const waitFields = {
  checkpoint: shortName('The checkpoint that ends the wait. The first deadline stored under a name stands.', [
    'approval',
  ]),
  until: optional(instant({ description: 'When the job is due again at the latest; a year ahead at most.' })),
  wait: Type.Optional(
    Type.Unsafe<SuspendWait | null>({
      title: 'SuspendWait',
      type: ['object', 'null'],
      properties: {
        signal: {
          type: 'object',
          required: ['name'],
          properties: {
            name: shortName('The signal to wait for.', ['approval']),
            key: optional(shortName('Which one of that name; the id of the job if omitted.', ['order-7'])),
          },
        },
        ask: { anyOf: [{ $ref: 'Ask#' }, { type: 'null' }] },
        children: {
          type: 'array',
          minItems: CHILDREN_LIMITS.minimum,
          maxItems: CHILDREN_LIMITS.maximum,
          items: childName('A child of this job that is not detached.'),
          description: 'The children to wait for, all of them.',
        },
      },
      description:
        'What may end the wait early: either a signal, or the end of all the children that it names. Without it, the ' +
        'job sleeps.',
    }),
  ),
};

export interface SuspendWait {
  readonly signal?: { readonly name: string; readonly key?: string | null };
  readonly ask?: Ask | null;
  readonly children?: readonly string[];
}

/** Of a report with the outcome `suspended`. */
export const suspendFields = {
  checkpoint: Type.Optional(waitFields.checkpoint),
  until: waitFields.until,
  wait: waitFields.wait,
};
