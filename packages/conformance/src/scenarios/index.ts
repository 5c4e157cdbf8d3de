import type { Scenario } from '../scenario.js';
import { ABORTS } from './aborts.js';
import { CRASH } from './crash.js';
import { DURABLE } from './durable.js';
import { HEARTBEATS } from './heartbeats.js';
import { OUTCOMES } from './outcomes.js';
import { POLLING } from './polling.js';
import { REPORTS } from './reports.js';
import { SECRECY } from './secrecy.js';
import { SHUTDOWN } from './shutdown.js';
import { SLOTS } from './slots.js';

/** Every scenario, by number. */
export const SCENARIOS: readonly Scenario[] = [
  ...OUTCOMES,
  ...SLOTS,
  ...HEARTBEATS,
  ...ABORTS,
  ...REPORTS,
  ...POLLING,
  ...SHUTDOWN,
  ...CRASH,
  ...SECRECY,
  ...DURABLE,
].sort((one, other) => one.number - other.number);
