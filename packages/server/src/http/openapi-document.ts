import { rewriteComponents, rewriteSchema, type OpenApiSchema, type OpenApiSchemas } from './openapi-schemas.js';

/** What every operation of the API description has, so that no route needs to say it. */

interface Media {
  readonly schema?: OpenApiSchema;
}
interface Body {
  readonly required?: boolean;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Response {
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly schema?: OpenApiSchema;
}
interface Operation {
  readonly operationId?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: Body;
  readonly responses: Readonly<Record<string, Response>>;
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;
interface Document {
  readonly paths: Paths;
  readonly components: { readonly schemas: OpenApiSchemas };
}

/** Operations whose body may be left out; the framework's plugin takes every body for required. */
const BODY_OPTIONAL = ['leaseJobs'];

const HEADERS = {
  'X-Request-Id': header('Identifies the request in the logs: as the client sent it, or made up by the server.'),
  'WWW-Authenticate': header('The kind of credential to send.', { const: 'Bearer' }),
  'Retry-After': header('Seconds to wait before the next try.', { type: 'integer' }),
  'Idempotency-Replayed': header('Sent when the key was used before: nothing was done again.', { const: 'true' }),
  'Preference-Applied': header('Repeats the preference that was honoured.'),
  ETag: header('Send it as `If-None-Match` to be answered 304 while nothing has changed.'),
} as const;
type HeaderName = keyof typeof HEADERS;

export function finishDocument(collected: object): object {
  const { paths: collectedPaths, components, ...rest } = collected as Document;
  const paths = mapOperations(collectedPaths, finishOperation);
  const text = JSON.stringify(paths);
  const headers = Object.entries(HEADERS).filter(([name]) => text.includes(`"${headerReference(name)}"`));
  return {
    ...rest,
    components: {
      ...components,
      headers: Object.fromEntries(headers),
      schemas: rewriteComponents(components.schemas, paths),
    },
    paths,
  };
}

const mapOperations = (paths: Paths, map: (operation: Operation) => Operation): Paths =>
  mapValues(paths, (methods) => mapValues(methods, map));

function finishOperation(operation: Operation): Operation {
  const parameters = operation.parameters?.map((parameter) =>
    parameter.schema === undefined ? parameter : { ...parameter, schema: rewriteSchema(parameter.schema) },
  );
  const body = operation.requestBody;
  return {
    ...operation,
    ...(parameters === undefined ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: finishBody(body, operation) }),
    responses: finishResponses(operation),
  };
}

const finishBody = (body: Body, { operationId = '' }: Operation): Body => ({
  ...body,
  required: !BODY_OPTIONAL.includes(operationId),
  ...withSchemas(body),
});

function finishResponses(operation: Operation): Operation['responses'] {
  const sorted = Object.entries(operation.responses).sort(([a], [b]) => Number(a) - Number(b));
  return Object.fromEntries(
    sorted.map(([status, response]) => {
      const names = headersOf(operation, Number(status));
      const shared = names.map((name) => [name, { $ref: headerReference(name) }] as const);
      const headers = { ...response.headers, ...Object.fromEntries(shared) };
      return [status, { ...response, headers, ...withSchemas(response) }];
    }),
  );
}

function headersOf({ parameters = [], responses }: Operation, status: number): HeaderName[] {
  const takes = (name: string): boolean =>
    parameters.some((parameter) => parameter.in === 'header' && parameter.name === name);
  const isSuccess = status < 300;
  const names: HeaderName[] = ['X-Request-Id'];
  if (status === 401) names.push('WWW-Authenticate');
  if (status === 503) names.push('Retry-After');
  if (isSuccess && takes('Idempotency-Key')) names.push('Idempotency-Replayed');
  if (isSuccess && takes('Prefer')) names.push('Preference-Applied');
  if (status < 400 && '304' in responses) names.push('ETag');
  return names;
}

const headerReference = (name: string): string => `#/components/headers/${name}`;

function header(description: string, schema: object = {}): object {
  return { description, schema: { type: 'string', ...schema } };
}

function withSchemas({ content }: Body): Body {
  if (content === undefined) return {};
  return {
    content: mapValues(content, (media) =>
      media.schema === undefined ? media : { ...media, schema: rewriteSchema(media.schema) },
    ),
  };
}

const mapValues = <T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
