/** What handlers write while they run. */
import type { JsonObject } from '../json/object.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface NewLogLine {
  at: string;
  level: LogLevel;
  message: string;
  fields?: JsonObject | null;
}

export interface LogLine {
  attempt: number;
  seq: number;
  at: string;
  level: LogLevel;
  message: string;
  fields?: JsonObject;
}

export interface JobLogs {
  lines: LogLine[];
  omitted: number;
  next?: string;
}
