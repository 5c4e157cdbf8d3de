import type { Engine } from '../engine/api.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Admission } from './access/admission.js';
import type { OpenCalls } from './answers/open-calls.js';

/** What every route may use. */
export interface HttpContext {
  readonly engine: Engine;
  readonly metrics: Metrics;
  /** Calls that wait: long polls and event streams. */
  readonly openCalls: OpenCalls;
  readonly admission: Admission;
  readonly defaultQueue: string;
  readonly maxPayloadBytes: number;
  readonly version: string;
  readonly isShuttingDown: () => boolean;
}
