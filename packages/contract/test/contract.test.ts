import { describe, expect, it } from 'vitest';
import * as contract from '../src/index.js';
import type { CreateJob, ErrorCode, Job, JobPage, LeaseResponse } from '../src/index.js';

type Schema = Record<string, unknown>;
const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && ('type' in value || '$ref' in value);
const exports: readonly (readonly [string, unknown])[] = Object.entries(contract);
const exported = exports.flatMap(([name, value]) => (isSchema(value) ? [[name, value] as const] : []));
const named = exported.filter(([, schema]) => '$id' in schema);

/** Every schema within a schema, including itself. */
function* parts(schema: Schema): Generator<Schema> {
  yield schema;
  const inner: unknown[] = [...Object.values(schema.properties ?? {}), schema.items];
  for (const part of inner) if (isSchema(part)) yield* parts(part);
}

describe('the contract', () => {
  it('gives every named shape a unique name', () => {
    const ids = named.map(([, schema]) => schema.$id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining(['Error', 'Job', 'CreateJob', 'LeaseResponse', 'DeadLetter', 'Workflow']),
    );
  });

  it('refers only to shapes that exist', () => {
    const ids = new Set(named.map(([, schema]) => `${String(schema.$id)}#`));
    for (const [name, schema] of exported) {
      for (const part of parts(schema)) if ('$ref' in part) expect(ids, name).toContain(part.$ref);
    }
  });

  it('is plain JSON: nothing is lost when it is written to a document', () => {
    for (const [name, schema] of exported) {
      expect(JSON.parse(JSON.stringify(schema)), name).toEqual({ ...schema });
    }
  });

  it('describes every field a caller may send', () => {
    for (const schema of [contract.CreateJob, contract.LeaseRequest, contract.HeartbeatRequest, contract.FailRequest]) {
      for (const [field, part] of Object.entries(schema.properties)) {
        expect((part as Schema).description, field).toBeTruthy();
      }
    }
  });

  it('has defaults within its own bounds', () => {
    for (const [field, { minimum, maximum }] of Object.entries(contract.JOB_CONFIG_LIMITS)) {
      const value = contract.DEFAULT_JOB_CONFIG[field as keyof typeof contract.JOB_CONFIG_LIMITS];
      expect(value).toBeGreaterThanOrEqual(minimum);
      expect(value).toBeLessThanOrEqual(maximum);
      expect(contract.JobConfig.properties[field as keyof contract.JobConfig]).toMatchObject({ default: value });
    }
  });

  it('freezes its defaults', () => {
    expect(Object.isFrozen(contract.DEFAULT_JOB_CONFIG)).toBe(true);
  });

  it('accepts null where a field may be omitted, and only there', () => {
    expect(contract.CreateJob.properties.payload).toMatchObject({ type: ['object', 'null'] });
    expect(contract.CreateJob.properties.task_name).toMatchObject({ type: 'string' });
    expect(contract.JobConfigInput.properties.retry_backoff).toMatchObject({
      enum: [...contract.RETRY_BACKOFFS, null],
    });
    expect(contract.CreateJob.required).toEqual(['task_name']);
    expect(() => contract.nullable({ $ref: 'Job#' })).toThrow(TypeError);
    expect(() => contract.ref({ type: 'object' })).toThrow(TypeError);
  });

  it('derives its types from the schemas', () => {
    const page = { jobs: [], limit: 1, offset: 0, has_more: false } satisfies JobPage;
    const create = { task_name: 'a', config: { queue: null, max_retries: 3 }, payload: null } satisfies CreateJob;
    const lease = { jobs: [{ job: {} as Job, lease_token: 'x' }] } satisfies LeaseResponse;
    const code: ErrorCode = 'lease_lost';
    // @ts-expect-error no such code
    const wrong: ErrorCode = 'nope';
    expect([page, create, lease, code, wrong]).toHaveLength(5);
  });
});
