import { boundLogs } from '../requests/log-input.js';
import { ConditionalHeaders, ErrorBody, ref } from '@millrace/contract';
import type { TSchema } from 'typebox';
import type { RouteDocs } from '../types.js';

/** Building blocks for the routes' part of the API description. */

const MEANING = {
  400: 'The request is not valid; `details` says where.',
  401: 'The credential is missing or not valid here.',
  403: 'The resource belongs to another tenant, or the credential may only read, or is of the wrong kind.',
  404: 'No such resource.',
  409: 'The state of the resource forbids it; `code` says why.',
  413: 'The request body, or a field of it, is larger than this server accepts.',
  415: 'The request body is not application/json.',
  500: 'A bug in the service; its log has the details under the `X-Request-Id` of the answer.',
  503: 'The database is out of reach or the server is stopping; try again after `Retry-After` seconds.',
} as const;

type ErrorStatus = keyof typeof MEANING;

/** Error answers, which all have the same shape. */
export function errors(...statuses: ErrorStatus[]): Record<number, object> {
  return Object.fromEntries(statuses.map((status) => [status, described(ref(ErrorBody), MEANING[status])]));
}

/**
 * The errors of every route except reads: even a route that takes no body refuses an invalid one, and credentials that
 * may only read are refused.
 */
export const bodyErrors = (...statuses: ErrorStatus[]): Record<number, object> =>
  errors(400, 401, 403, ...statuses, 413, 415, 503);

export const described = (schema: TSchema, description: string, extra: object = {}): object => ({
  ...schema,
  ...extra,
  description,
});

/** Headers of answers. */
export const REPLAYED = {
  'Idempotency-Replayed': {
    type: 'string',
    description: '`true` if an earlier request with the same idempotency key did it, and this one did nothing.',
  },
};
export const MISMATCH = {
  'Idempotency-Mismatch': {
    type: 'string',
    description: '`true` if the earlier request with the same idempotency key had another body.',
  },
};
export const EXISTING = {
  'Millrace-Existing': { type: 'string', description: '`true` if a job with the same unique key already existed.' },
};
export const JOB_LOCATION = { Location: { type: 'string', description: 'Path of the job.' } };
/** A stream of server-sent events. */
export const eventStream = (description: string, events: readonly TSchema[], example: string): object => ({
  description,
  content: {
    'text/event-stream': {
      schema: {
        type: 'string',
        contentMediaType: 'text/event-stream',
        contentSchema: { anyOf: events },
        description: 'The data of each event is JSON.',
        examples: [example],
      },
    },
  },
});

/** One of several shapes. */
export const anyOf = (...schemas: TSchema[]): TSchema => ({ anyOf: schemas });

/** An answer without a body. */
export const nothing = (description: string): object => ({ type: 'null', description });

const ETAG = { ETag: { type: 'string', description: 'Send it back as `If-None-Match`. Streamed pages have none.' } };

/** A read whose answer can be asked for again with `If-None-Match`, as sendTagged gives it. */
export const tagged = (schema: TSchema, description: string, ...statuses: ErrorStatus[]): RouteDocs => ({
  headers: ConditionalHeaders,
  response: {
    200: described(schema, description, { headers: ETAG }),
    304: nothing('The answer is the one that `If-None-Match` names.'),
    ...errors(400, 401, ...statuses, 503),
  },
});

export const TENANT = [{ tenantToken: [] }];
export const WORKER = [{ workerToken: [] }];
export const ADMIN = [{ adminToken: [] }];
export const PUBLIC: [] = [];

/** A route that ends work in progress, and is therefore shed last. */
export const vital = <Schema extends object>(schema: Schema): { schema: Schema; config: { load: 'vital' } } => ({
  schema,
  config: { load: 'vital' },
});

/** The same, of a worker that may send lines along. */
export const reporting = <Schema extends object>(
  schema: Schema,
): ReturnType<typeof vital<Schema>> & { preValidation: typeof boundLogs } => ({
  ...vital(schema),
  preValidation: boundLogs,
});
