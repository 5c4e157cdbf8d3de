/** What the tools, and the tests of the packages, have in common. */
export { readMap, type MapPlace, type MapRow } from './architecture-map.js';
export { monotonicMicros, monotonicMs } from './clock.js';
export { readFlags, runMain, say, UsageError, wholeNumber } from './command-line.js';
export { DEADLINE_MS, PATIENCE_MS } from './deadline.js';
export { replaceBetween, type Marks } from './documents.js';
export { exitOnSignals, onExit } from './exit.js';
export {
  MILLRACE,
  startQuietService,
  startService,
  type LogLine,
  type QuietServiceSpec,
  type Service,
  type ServiceSpec,
} from './millrace.js';
export { readMetrics } from './metrics.js';
export { allProcesses, processStat, type ProcessStat } from './processes.js';
export { startProgram, type Exit, type Program, type ProgramSpec } from './programs.js';
export { startProxy, type Proxy } from './proxy.js';
export { Random } from './random.js';
export { close, connectTo, listen, viaPort } from './sockets.js';
export { median, quantile } from './stats.js';
export { until, type NotYet, type UntilOptions } from './until.js';
