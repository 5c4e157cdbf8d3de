/**
 * The one door into the product. Its public face is the package; what stands behind it is needed to measure the limits: the very
 * statements, arrays and routes of the product, without the rest of it around them.
 */
export { createLogger, migrate, parseConfig, startEmbedded, startServer, VERSION } from '@millrace/server';
export type { Config, Handler } from '@millrace/server';
export { bucketOf, createdAtOf, idsWith, idSuffix } from '../../../packages/server/dist/domain/ids.js';
export type { Engine } from '../../../packages/server/dist/engine/types.js';
export { createApp } from '../../../packages/server/dist/http/app.js';
export {
  boolArray,
  int4Array,
  jsonArray,
  plainArray,
  textArray,
  uuidArray,
} from '../../../packages/server/dist/store/arrays.js';
export { Database } from '../../../packages/server/dist/store/database.js';
export { loadStatements } from '../../../packages/server/dist/store/sql.js';
export { Metrics } from '../../../packages/server/dist/telemetry/metrics.js';
/** The product's own copy. */
export { fastify } from 'fastify';
