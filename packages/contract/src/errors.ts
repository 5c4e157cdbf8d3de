import { Type, type Static } from 'typebox';

/** Every code an error answer can carry. They are stable: clients branch on them, never on the sentence. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'conflict',
  'lease_lost',
  'already_replayed',
  'already_finished',
  'payload_too_large',
  'unsupported_media_type',
  'unavailable',
  'internal',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export const ErrorDetail = Type.Object(
  {
    path: Type.String({
      description: 'Where the problem is: dots between fields, brackets round the index of an array item.',
      examples: ['config.max_retries', 'jobs[3].task_name'],
    }),
    message: Type.String({ description: 'What is wrong there.', examples: ['must be <= 1000'] }),
  },
  { description: 'One problem found in a request.' },
);
export type ErrorDetail = Static<typeof ErrorDetail>;

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A sentence for a human. Its wording may change.' }),
    code: Type.Unsafe<ErrorCode>({
      type: 'string',
      enum: [...ERROR_CODES],
      description: 'The stable, machine-readable reason.',
    }),
    timestamp: Type.String({ format: 'date-time', description: 'When the answer was made.' }),
    details: Type.Optional(
      Type.Array(ErrorDetail, { description: 'Present when validation found what is wrong in the request.' }),
    ),
  },
  {
    $id: 'Error',
    description: 'The body of every answer that is not a success.',
    examples: [
      {
        error: 'config.max_retries must be <= 1000',
        code: 'invalid_request',
        timestamp: '2026-01-31T09:00:00.000Z',
        details: [{ path: 'config.max_retries', message: 'must be <= 1000' }],
      },
    ],
  },
);
export type ErrorBody = Static<typeof ErrorBody>;
