/** One proxy for the tests and for the fault suite, which has no vitest. */
export { startProxy, type Proxy } from '@millrace/tools-shared';
