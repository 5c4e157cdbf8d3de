import { Type, type Static } from 'typebox';
import { filledText, oneOf, optional } from './schema.js';
import { shortName, SUSPEND_LIMITS, type Ask } from './waiting.js';

/** Steps of workflows that decide whether they run, and steps that wait for a signal instead of running a task. */

/** The queue of the jobs of waiting steps, and their task. Nobody else creates jobs there, and nobody leases them. */
export const WAITS_QUEUE = 'millrace:waits';
export const WAIT_TASK = 'millrace:wait';

/** How many fields a condition may follow, and how many values it may compare with. */
export const CONDITION_LIMITS = { path: 10, values: 100 } as const;
/** The longest text that a condition compares with, in characters. */
export const CONDITION_TEXT_MAX_LENGTH = 1_000;
/** The largest condition, in bytes of JSON. */
export const CONDITION_MAX_BYTES = 16_384;
/** How many steps of a workflow may wait for signals. */
export const WORKFLOW_MAX_WAITS = 100;
/** How long a step may wait: up to a year. */
export const STEP_WAIT_LIMITS = { minimum: 1, maximum: SUSPEND_LIMITS.maximum } as const;

export const OTHERWISE = ['skip', 'continue'] as const;
export type Otherwise = (typeof OTHERWISE)[number];

export const ON_TIMEOUT_POLICIES = ['fail', 'continue'] as const;
export type OnTimeout = (typeof ON_TIMEOUT_POLICIES)[number];

/** What a condition compares with. */
export type Scalar = string | number | boolean | null;

const scalar = (description: string, examples: readonly Scalar[]) =>
  Type.Unsafe<Scalar>({
    type: ['string', 'number', 'boolean', 'null'],
    maxLength: CONDITION_TEXT_MAX_LENGTH,
    description,
    examples,
  });

export const StepCondition = Type.Object(
  {
    ref: Type.Object(
      {
        $step: optional(
          filledText({
            description:
              'A step that this one depends on, directly or not: `path` begins at its result. Without it, `path` ' +
              'begins at the context.',
            examples: ['charge'],
          }),
        ),
        path: optional(
          Type.Array(Type.String({ maxLength: 255 }), {
            maxItems: CONDITION_LIMITS.path,
            description: 'The fields to follow, from object to object. If one of them is missing, the value is null.',
            examples: [['amount', 'currency']],
          }),
        ),
      },
      { title: 'ConditionRef', description: 'What is compared.' },
    ),
    is: Type.Optional(
      scalar('Holds if the value is this one. Numbers compare by value: 1, 1.0 and 1e0 are one.', ['EUR']),
    ),
    is_not: Type.Optional(scalar('Holds if the value is not this one.', ['refused'])),
    in: optional(
      Type.Array(scalar('One of the values.', ['EUR']), {
        minItems: 1,
        maxItems: CONDITION_LIMITS.values,
        description: 'Holds if the value is one of these.',
        examples: [['EUR', 'CHF']],
      }),
    ),
    otherwise: optional(
      oneOf(OTHERWISE, {
        default: 'skip',
        description:
          'If the condition does not hold, the step is skipped. `skip`: so is everything behind it. `continue`: the ' +
          'steps behind it run as if it had completed.',
      }),
    ),
  },
  {
    title: 'StepCondition',
    description:
      'Evaluated when it is the turn of the step, against the context at that time. Exactly one of `is`, `is_not` and ' +
      `\`in\`. At most ${CONDITION_MAX_BYTES} bytes of JSON.`,
    examples: [{ ref: { $step: 'charge', path: ['currency'] }, in: ['EUR', 'CHF'] }],
  },
);
export type StepCondition = Static<typeof StepCondition>;

export const StepWait = Type.Object(
  {
    signal: shortName('The signal to wait for.', ['approved']),
    key: optional(shortName('Which one of that name; the id of the workflow if omitted.', ['order-7'])),
    timeout_secs: Type.Integer({
      ...STEP_WAIT_LIMITS,
      description: 'How long it waits, from the moment its turn comes.',
      examples: [259_200],
    }),
    ask: Type.Optional(
      Type.Unsafe<Ask | null>({
        anyOf: [{ $ref: 'Ask#' }, { type: 'null' }],
        description: 'A question to a person; `GET /waits?ask=true` lists it.',
      }),
    ),
    on_timeout: optional(
      oneOf(ON_TIMEOUT_POLICIES, {
        default: 'fail',
        description:
          'What happens if no signal comes in time. `fail`: the step fails, and its `on_failure` applies. ' +
          '`continue`: it completes with the result `{"timed_out": true}`.',
      }),
    ),
  },
  {
    title: 'StepWait',
    description:
      'The step waits for a signal instead of running a task. Its result is the value of the signal; a value that is ' +
      'not an object becomes `{"value": …}`.',
    examples: [{ signal: 'approved', timeout_secs: 259_200, ask: { text: 'Ship the order?' } }],
  },
);
export type StepWait = Static<typeof StepWait>;

export const SKIP_REASONS = ['condition', 'failure'] as const;
export type SkipReason = (typeof SKIP_REASONS)[number];
