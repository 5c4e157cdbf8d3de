import { describe, expect, it } from 'vitest';
import { verdictOf, type Verdict } from '../../src/relay/verdict.js';

const answer = (status: number, body: unknown = {}, retryAfterMs: number | null = null): Verdict =>
  verdictOf({ kind: 'answer', status, body: typeof body === 'string' ? body : JSON.stringify(body), retryAfterMs });

const problem = (details: readonly { path: string; message: string }[]): object => ({
  error: 'invalid request',
  code: 'invalid_request',
  details,
});

describe('what an answer of the service means to a relay', () => {
  it.each([200, 201])('%i: all of it was taken', (status) => {
    expect(answer(status)).toEqual({ kind: 'delivered' });
  });

  it.each([401, 403, 404, 301, 405, 422])('%i: it is set up wrongly, and has to stop', (status) => {
    expect(answer(status, { error: 'no' })).toEqual({ kind: 'stop', reason: `${status} no` });
  });

  it.each([408, 429, 500, 502, 503])('%i: again later, as it may have been stored', (status) => {
    expect(answer(status, '<html>', 3000)).toEqual({
      kind: 'again',
      reason: `${status} without a reason`,
      unsent: false,
      retryAfterMs: 3000,
    });
  });

  it('no answer: again later', () => {
    const again = { reason: 'gone', unsent: true };
    expect(verdictOf({ kind: 'none', ...again })).toEqual({ kind: 'again', retryAfterMs: null, ...again });
  });

  it.each([400, 409, 413])('%i that names jobs: these are set aside, each with the first thing wrong', (status) => {
    const details = [
      { path: 'jobs[2].config.max_retries', message: 'must be <= 1000' },
      { path: 'jobs[2].payload', message: 'is too large' },
      { path: 'jobs[7]', message: 'is in conflict' },
    ];
    expect(answer(status, problem(details))).toEqual({
      kind: 'refused',
      items: new Map([
        [2, { code: 'invalid_request', error: 'config.max_retries must be <= 1000' }],
        [7, { code: 'invalid_request', error: 'the job is in conflict' }],
      ]),
    });
  });

  it.each([400, 409, 413])('%i that names none: in halves', (status) => {
    expect(answer(status, { error: 'too much', code: 'payload_too_large' })).toEqual({
      kind: 'split',
      refusal: { code: 'payload_too_large', error: `${status} too much` },
    });
  });

  it('a service that does not know keys of jobs is not given any', () => {
    const details = [{ path: 'jobs[0].idempotency_key', message: 'is no known field' }];
    expect(answer(400, problem(details))).toMatchObject({ kind: 'stop', reason: expect.stringContaining('older') });
  });
});
