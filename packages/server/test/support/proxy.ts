/** One proxy for the tests and for the fault suite, which needs it without vitest. */
export { startProxy, type Proxy } from '../../../../tools/chaos/src/stage/proxy.js';
