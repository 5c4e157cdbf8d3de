import { ErrorBody, ref } from '@millrace/contract';
import type { TSchema } from 'typebox';

/** Building blocks of what routes tell about themselves in the API description. */

const MEANING = {
  400: 'The request is not valid; `details` says where.',
  401: 'The credential is missing or not valid here.',
  403: 'The resource belongs to another tenant, or the route takes another kind of credential.',
  404: 'No such resource.',
  409: 'The state of the resource forbids it; `code` says why.',
  413: 'The request body, or a field of it, is larger than this server accepts.',
  415: 'The request body is not application/json.',
  503: 'The database is out of reach or the server is stopping; try again after `Retry-After` seconds.',
} as const;

type ErrorStatus = keyof typeof MEANING;

/** Answers that are not a success, all of one shape. */
export function errors(...statuses: ErrorStatus[]): Record<number, object> {
  return Object.fromEntries(statuses.map((status) => [status, described(ref(ErrorBody), MEANING[status])]));
}

/**
 * What every route can answer but the reads: where no body is asked for, one that comes nevertheless has to be sound.
 */
export const bodyErrors = (...statuses: ErrorStatus[]): Record<number, object> =>
  errors(400, 401, ...statuses, 413, 415, 503);

export const described = (schema: TSchema, description: string, extra: object = {}): object => ({
  ...schema,
  ...extra,
  description,
});

/** Headers of answers. */
export const REPLAYED = {
  'Idempotency-Replayed': {
    type: 'string',
    description: '`true` if an earlier request with the same idempotency key did it, and this one nothing.',
  },
};
export const JOB_LOCATION = { Location: { type: 'string', description: 'Path of the job.' } };

/** An answer without a body. */
export const nothing = (description: string): object => ({ type: 'null', description });

export const TENANT = [{ tenantToken: [] }];
export const WORKER = [{ workerToken: [] }];
export const PUBLIC: [] = [];

/** A route that ends work which is under way, and is shed last for that. */
export const vital = <Schema extends object>(schema: Schema): { schema: Schema; config: { load: 'vital' } } => ({
  schema,
  config: { load: 'vital' },
});
