import { JOB_STATUSES, RETRY_BACKOFFS, DEFAULT_JOB_CONFIG } from '@millrace/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JobRecord } from '../../../src/domain/records.js';
import { jobJson, jobJsonLine, leaseJson, pageJson } from '../../../src/http/answers/serialize.js';

const FIELDS = [
  ...['id', 'queue_name', 'task_name', 'payload', 'config', 'status', 'result', 'error_message', 'retry_count'],
  ...['delivery_count', 'created_at', 'scheduled_at', 'started_at', 'completed_at', 'next_retry_at'],
  ...['idempotency_key', 'workflow_id', 'workflow_step_id', 'tenant_id', 'metadata'],
  ...['worker_id', 'lease_expires_at', 'progress'],
];

const text = fc.string({ unit: 'binary' });
const object = fc.dictionary(text, fc.jsonValue()).map((value) => JSON.stringify(value));
const instant = fc.constantFrom('2026-01-31T09:00:00.123456Z', '0001-01-01T00:00:00.000000Z');
const orNull = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | null> => fc.option(value, { nil: null });

const config = fc.oneof(
  fc.constant(DEFAULT_JOB_CONFIG),
  fc.record({
    priority: fc.integer(),
    max_retries: fc.integer({ min: 0, max: 1000 }),
    timeout_secs: fc.integer({ min: 1, max: 86_400 }),
    retry_backoff: fc.constantFrom(...RETRY_BACKOFFS),
    retry_delay_secs: fc.nat(2_592_000),
    retry_max_delay_secs: fc.nat(2_592_000),
    jitter_factor: fc.double({ min: 0, max: 1, noNaN: true }).map((factor) => factor + 0),
  }),
);

const record: fc.Arbitrary<JobRecord> = fc.record({
  id: fc.uuid(),
  tenant_id: text,
  queue_name: text,
  task_name: text,
  payload: object,
  config,
  metadata: object,
  status: fc.constantFrom(...JOB_STATUSES),
  result: orNull(object),
  error_message: orNull(text),
  retry_count: fc.nat(),
  delivery_count: fc.nat(),
  created_at: instant,
  scheduled_at: instant,
  started_at: orNull(instant),
  completed_at: orNull(instant),
  next_retry_at: orNull(instant),
  idempotency_key: orNull(text),
  workflow_id: orNull(fc.uuid()),
  workflow_step_id: orNull(text),
  worker_id: orNull(text),
  lease_expires_at: orNull(instant),
  progress: orNull(object),
});

const parsed = (json: string): unknown => JSON.parse(json);
const meant = (job: JobRecord): Record<string, unknown> => ({
  ...job,
  payload: parsed(job.payload),
  metadata: parsed(job.metadata),
  result: job.result === null ? null : parsed(job.result),
  progress: job.progress === null ? null : parsed(job.progress),
});

/** As JSON.stringify would write it, in the documented order. */
const written = (job: JobRecord): string => {
  const fields = meant(job);
  return JSON.stringify(Object.fromEntries(FIELDS.map((field) => [field, fields[field]])));
};

describe('a job', () => {
  it('is written as JSON.stringify would write it', () => {
    fc.assert(
      fc.property(record, (job) => {
        expect(jobJson(job)).toBe(written(job));
      }),
    );
  });

  it('is one line in an event, with the same meaning', () => {
    const broken = fc.tuple(record, object).map(([job, value]): JobRecord => {
      const spread = JSON.stringify(parsed(value), null, 2).replaceAll('\n', '\r\n');
      return { ...job, payload: spread, result: `${spread}\r`, metadata: `\n${spread}` };
    });
    fc.assert(
      fc.property(broken, (job) => {
        const line = jobJsonLine(job);
        expect(line).not.toMatch(/[\r\n]/);
        expect(parsed(line)).toEqual(parsed(written(job)));
      }),
    );
  });
});

describe('a lease', () => {
  it('has the token beside the job', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ job: record, leaseToken: fc.uuid() }), { maxLength: 4 }), (leased) => {
        const jobs = leased.map(({ job, leaseToken }) => ({ job: parsed(written(job)), lease_token: leaseToken }));
        expect(leaseJson(leased)).toBe(JSON.stringify({ jobs }));
      }),
    );
  });
});

describe('a page', () => {
  it('has a cursor if and only if another page follows, and a total if there is one', () => {
    const page = fc.record({
      items: fc.array(fc.integer()),
      nextCursor: orNull(text),
      prevCursor: orNull(text),
      searchedTo: orNull(instant),
      total: orNull(fc.nat()),
    });
    fc.assert(
      fc.property(page, (listed) => {
        expect(parsed(pageJson('things', listed, { limit: 7, offset: 2 }, String))).toEqual({
          things: listed.items,
          limit: 7,
          offset: 2,
          has_more: listed.nextCursor !== null,
          ...(listed.nextCursor !== null && { next_cursor: listed.nextCursor }),
          ...(listed.prevCursor !== null && { prev_cursor: listed.prevCursor }),
          ...(listed.searchedTo !== null && { searched_to: listed.searchedTo }),
          ...(listed.total !== null && { total: listed.total }),
        });
      }),
    );
  });
});
