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
import { suspensionOf } from './durable-input.js';
import { newLogs } from './log-input.js';

/** What workers report, from what they sent to what the engine takes. Error texts are made storable, never refused. */

export const errorText = (error: string): string => cleanText(error, ERROR_TEXT_MAX_LENGTH);

export const failureReport = (body: Pick<FailRequest, 'retry_after_secs' | 'details'>): FailureReport => ({
  retryAfterSecs: body.retry_after_secs ?? null,
  details: body.details ? errorDetails(body.details, ERROR_STACK_MAX_BYTES) : null,
});

/** `text`: as it was sent. */
export const progressText = (progress: object | null | undefined, text: string | undefined): JsonText | null =>
  callerText(progress, text, null, 'progress', { maxPayloadBytes: PROGRESS_MAX_BYTES });

/** The fields of a report that are taken as they were sent. */
export const REPORT_TEXTS = ['result', 'wait', 'logs'] as const;

/**
 * `texts`: those fields, in that order. Objects are written out field by field: one that spreads another has a shape of
 * its own each time, which makes every later look at it slow.
 */
export function jobReport(
  report: Report,
  [result, wait, lines]: readonly (string | undefined)[],
  settings: InputSettings,
): JobReport {
  const { job_id: id, lease_token: token, outcome } = report;
  const logs = newLogs(report.logs, lines);
  switch (outcome) {
    case 'completed':
      return { id, token, logs, outcome, result: callerText(report.result, result, '{}', 'result', settings) };
    case 'failed': {
      if (report.error === undefined) throw invalidField('error', 'is required');
      const retryable = report.retryable ?? true;
      return { id, token, logs, outcome, error: errorText(report.error), retryable, ...failureReport(report) };
    }
    case 'released':
      return { id, token, logs, outcome, delaySecs: report.delay_secs ?? null };
    case 'suspended':
      return { id, token, logs, outcome, suspension: suspensionOf(report, wait) };
  }
}
