/** One way of waiting for the tests and for the tools, which have no vitest. */
export { until, type NotYet, type UntilOptions } from '@millrace/tools-shared';
