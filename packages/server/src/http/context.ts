import type { Engine } from '../engine/api.js';
import type { Metrics } from '../telemetry/metrics.js';
import type { Tracer } from '../telemetry/tracing.js';
import type { AnswerRoom } from './access/answer-room.js';
import type { Admission } from './access/admission.js';
import type { OpenCalls } from './answers/open-calls.js';
import type { LoopTurns } from './turns.js';

/** What every route may use. */
export interface HttpContext {
  readonly engine: Engine;
  readonly metrics: Metrics;
  /** Calls that wait: long polls and event streams. */
  readonly openCalls: OpenCalls;
  readonly admission: Admission;
  /** What takes long is done in steps, between which others are served. */
  readonly turns: LoopTurns;
  /** The same for what is sent to event streams. */
  readonly sending: LoopTurns;
  /** Bounds the answers that their clients have not read yet. */
  readonly answers: AnswerRoom;
  /** How long a client may take nothing of its answer. */
  readonly unreadMs: number;
  readonly defaultQueue: string;
  readonly maxPayloadBytes: number;
  readonly version: string;
  /** Whether any bearer token is accepted. */
  readonly dev: boolean;
  /** Whether there are routes for operators. */
  readonly hasAdmin: boolean;
  readonly retentionHours: number | null;
  /** Where traces are shown; null: nowhere that is known. */
  readonly traceUrl: string | null;
  /** Null: nothing is traced. */
  readonly tracer: Tracer | null;
  readonly isShuttingDown: () => boolean;
}
