import { DEFAULT_JOB_CONFIG } from '@millrace/contract';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { allSchemas, document, operations, type Schema } from './document.js';

/** What generators need to make usable clients. New routes follow these rules, or fail here. */

const schemas = allSchemas();
const responses = operations.flatMap(({ operation }) =>
  Object.entries(operation.responses).map(([status, response]) => ({
    at: `${operation.operationId} ${status}`,
    operation,
    status: Number(status),
    headers: Object.keys(response.headers ?? {}),
    response,
  })),
);
const takesKey = ({ operation }: (typeof responses)[number]): boolean =>
  operation.parameters?.some(({ name }) => name === 'Idempotency-Key') ?? false;

const typesOf = (schema: Schema): unknown[] => [schema.type].flat();

describe('the document', () => {
  it('passes a linter', async () => {
    // Probes take nothing and need no credential: they have nothing to refuse.
    const rules = { 'operation-4xx-response': 'off' } as const;
    const config = await createConfig({ extends: ['recommended'], rules });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  it('names the server', () => {
    expect(document.servers.map(({ url }) => url)).toEqual(['/']);
  });

  it('says what happens to a method that a path does not have', () => {
    expect(document.info.description).toContain('405');
  });
});

describe('every operation', () => {
  it.each(operations)('$operation.operationId has a description', ({ operation }) => {
    expect(operation.description).toMatch(/\w.*\.$/s);
  });

  it.each(operations)('$operation.operationId says how it fails', ({ path, operation }) => {
    const expected = path.startsWith('/api/v1') ? ['400', '401', '500', '503'] : ['500'];
    const free = ['getStats', 'listTasks', 'listQueues'].includes(operation.operationId) ? ['400', '503'] : [];
    const missing = expected.filter((status) => !(status in operation.responses) && !free.includes(status));
    expect(missing).toEqual([]);
  });
});

describe('headers', () => {
  it('are described where they occur', () => {
    for (const answer of responses) {
      const { at, status, headers } = answer;
      expect(headers, at).toContain('X-Request-Id');
      if (status === 401) expect(headers, at).toContain('WWW-Authenticate');
      if (status === 503) expect(headers, at).toContain('Retry-After');
      if (status === 304) expect(headers, at).toContain('ETag');
      if (status < 300 && takesKey(answer)) expect(headers, at).toContain('Idempotency-Replayed');
    }
    expect(responses.filter(takesKey)).not.toEqual([]);
  });

  it('are described once', () => {
    for (const [name, { description, schema }] of Object.entries(document.components.headers)) {
      expect(description, name).toBeTruthy();
      expect(schema.type, name).toBeTruthy();
    }
    expect(document.components.headers['Retry-After']?.schema.type).toBe('integer');
  });
});

describe('event streams', () => {
  const streams = responses.filter(({ response }) => 'text/event-stream' in (response.content ?? {}));

  it('say the names of their events and the shape of their data', () => {
    expect(streams.map(({ operation }) => operation.operationId)).toContain('watchJob');
    for (const { at, response } of streams) {
      const { contentSchema } = response.content!['text/event-stream']!.schema as {
        contentSchema: { anyOf: { $ref: string }[] };
      };
      for (const { $ref } of contentSchema.anyOf) {
        const event = document.components.schemas[$ref.replace('#/components/schemas/', '')];
        expect(event?.properties, at).toMatchObject({ event: { enum: [expect.any(String)] }, data: {} });
      }
    }
  });
});

describe('schemas', () => {
  it('give every list of words a name, and none allows null among its words', () => {
    const named = new Set<Schema>(Object.values(document.components.schemas));
    // One word alone is a constant.
    const isList = ({ enum: words }: Schema): boolean => Array.isArray(words) && words.length > 1;
    const inline = schemas.filter(([, schema]) => isList(schema) && !named.has(schema));
    expect(inline.map(([at]) => at)).toEqual([]);
    const withNull = schemas.filter(([, schema]) => Array.isArray(schema.enum) && schema.enum.includes(null));
    expect(withNull.map(([at]) => at)).toEqual([]);
  });

  it('name configuration, policies and states', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'JobConfig',
        'JobConfigInput',
        'PartialJobConfig',
        'RetryBackoff',
        'OnFailure',
        'OnSuccess',
        'JobStatus',
        'WorkflowStatus',
        'StepStatus',
        'DeadLetterReason',
        'ErrorCode',
      ]),
    );
    const { CreateJob, WorkflowStepInput, Cron } = document.components.schemas;
    expect(CreateJob?.properties).toMatchObject({
      config: { anyOf: [{ $ref: '#/components/schemas/JobConfigInput' }, { type: 'null' }] },
    });
    expect(WorkflowStepInput?.properties).toMatchObject({
      config: { anyOf: [{ $ref: '#/components/schemas/PartialJobConfig' }, { type: 'null' }] },
    });
    expect(Cron?.properties).toMatchObject({ config: { $ref: '#/components/schemas/ScheduleJobConfig' } });
  });

  it('know one spelling of the timeout, with its default', () => {
    const configs = schemas.filter(([, { properties }]) => Object.hasOwn(properties ?? {}, 'max_retries'));
    expect(configs.map(([at]) => at).sort()).toEqual([
      ...['JobConfig', 'JobConfigInput', 'PartialJobConfig', 'ScheduleJobConfig'],
    ]);
    for (const [at, { properties, description }] of configs) {
      const { timeout_secs: timeout, ...others } = properties as Record<string, { anyOf?: Schema[] } & Schema>;
      expect(timeout?.anyOf?.[0] ?? timeout, at).toMatchObject({ default: DEFAULT_JOB_CONFIG.timeout_secs });
      expect(others).not.toHaveProperty('timeout');
      if (at !== 'JobConfig') expect(description).toContain('`timeout` is accepted');
    }
  });

  it('declare objects with free content as such', () => {
    const closed = schemas.filter(
      ([, schema]) =>
        typesOf(schema).includes('object') &&
        schema.properties === undefined &&
        schema.additionalProperties === undefined,
    );
    expect(closed.map(([at]) => at)).toEqual([]);
    expect(document.components.schemas.Job?.properties).toMatchObject({ payload: { additionalProperties: true } });
  });

  it('leave a field with a default optional', () => {
    // Generators take a field for required if its default is beside a union, not in it.
    for (const [at, schema] of schemas) {
      const required = (schema.required ?? []) as string[];
      for (const [name, field] of Object.entries((schema.properties ?? {}) as Record<string, Schema>)) {
        if ('default' in field) expect(required, at).toContain(name);
      }
    }
  });

  it('give dead letters an integer of 64 bits as their id', () => {
    const int64 = { type: 'integer', format: 'int64' };
    expect(document.components.schemas.DeadLetter?.properties).toMatchObject({ id: int64 });
    const ids = operations
      .filter(({ path }) => path.startsWith('/api/v1/dlq/{id}'))
      .flatMap(({ operation }) => operation.parameters?.filter(({ name }) => name === 'id') ?? []);
    expect(ids.map(({ schema }) => schema)).toEqual(ids.map(() => expect.objectContaining(int64)));
    expect(ids.length).toBeGreaterThan(1);
  });
});
