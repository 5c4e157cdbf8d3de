/** One way of waiting for the tests and for the fault suite, which needs it without vitest. */
export { until, type NotYet, type UntilOptions } from '../../../../tools/chaos/src/stage/until.js';
