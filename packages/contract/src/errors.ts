import { Type, type Static } from 'typebox';
import { instant, oneOf } from './schema.js';

/** Every code an error answer can carry. Codes are stable: clients branch on the code, never on the message. */
export const ERROR_CODES = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'not_found',
  'method_not_allowed',
  'conflict',
  'lease_lost',
  'already_replayed',
  'already_finished',
  'payload_too_large',
  'unsupported_media_type',
  'misdirected_request',
  'unavailable',
  'internal',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export const ErrorDetail = Type.Object(
  {
    path: Type.String({
      description: 'The field at fault: dots separate fields, brackets enclose the index of an array item.',
      examples: ['config.max_retries', 'jobs[3].task_name'],
    }),
    message: Type.String({ description: 'What is wrong with it.', examples: ['must be <= 1000'] }),
  },
  { description: 'One problem found in a request.' },
);
export type ErrorDetail = Static<typeof ErrorDetail>;

export const ErrorBody = Type.Object(
  {
    error: Type.String({ description: 'A message for people. Its wording may change.' }),
    code: oneOf(ERROR_CODES, { description: 'The stable, machine-readable reason.' }),
    timestamp: instant({ description: 'When the error occurred.' }),
    details: Type.Optional(
      Type.Array(ErrorDetail, { description: 'The fields at fault; present when the request failed validation.' }),
    ),
  },
  {
    $id: 'Error',
    description: 'The body of every error response.',
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
