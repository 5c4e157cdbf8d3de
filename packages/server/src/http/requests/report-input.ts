import {
  ERROR_STACK_MAX_BYTES,
  ERROR_TEXT_MAX_LENGTH,
  PROGRESS_MAX_BYTES,
  type FailRequest,
  type Report,
} from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import type { JsonText } from '../../domain/records.js';
import { cleanText, errorDetails } from '../../domain/text.js';
import type { FailureReport, JobReport } from '../../engine/api.js';
import { callerText, type InputSettings } from './caller-text.js';

/** What workers report, from what they sent to what the engine takes. Error texts are made storable, never refused. */

export const errorText = (error: string): string => cleanText(error, ERROR_TEXT_MAX_LENGTH);

export const failureReport = (body: Pick<FailRequest, 'retry_after_secs' | 'details'>): FailureReport => ({
  retryAfterSecs: body.retry_after_secs ?? null,
  details: body.details ? errorDetails(body.details, ERROR_STACK_MAX_BYTES) : null,
});

/** `text`: as it was sent. */
export const progressText = (progress: object | null | undefined, text: string | undefined): JsonText | null =>
  callerText(progress, text, null, 'progress', { maxPayloadBytes: PROGRESS_MAX_BYTES });

/** `result`: as it was sent. */
export function jobReport(report: Report, result: string | undefined, settings: InputSettings): JobReport {
  const lease = { id: report.job_id, token: report.lease_token };
  switch (report.outcome) {
    case 'completed':
      return { ...lease, outcome: 'completed', result: callerText(report.result, result, '{}', 'result', settings) };
    case 'failed': {
      if (report.error === undefined) throw invalidField('error', 'is required');
      const { retryable } = report;
      const error = errorText(report.error);
      return { ...lease, outcome: 'failed', error, retryable: retryable ?? true, ...failureReport(report) };
    }
    case 'released':
      return { ...lease, outcome: 'released', delaySecs: report.delay_secs ?? null };
  }
}
