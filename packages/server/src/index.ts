/** The public interface for programs that embed the service, and for the command line. All else is internal. */
export {
  configSecrets,
  credentialWarnings,
  describeOptions,
  parseConfig,
  parseDatabaseConfig,
  UsageError,
  type Config,
} from './config/config.js';
export { cellListText, readCellList } from './config/cell-list.js';
export type { CredentialSet } from './config/credentials.js';
export { LiveCredentials } from './config/credential-files.js';
export { rangeText, type BucketRange } from './domain/cells.js';
export { MillraceError } from './domain/errors.js';
export { EmbeddedError, startEmbedded } from './embedded/index.js';
export {
  PermanentError,
  RawJson,
  type Handler,
  type HandlerContext,
  type HandlerJob,
  type Handlers,
  type JsonObject,
  type JsonValue,
} from './handlers/types.js';
export { ChildFailedError, isSuspended, Suspended } from '@millrace/sdk/durable';
export { openApiDocument } from './http/openapi.js';
export { DEV_RETRY_DELAY_SECS } from './http/requests/dev-policy.js';
export { databasesOf, type CellAddress } from './wiring/databases.js';
export { checkPorts } from './wiring/port-check.js';
export { startFleetMetrics, type Fleet } from './wiring/fleet-metrics-server.js';
export { startMember, startServer, type RunningMember, type RunningServer, type ServerOptions } from './server.js';
export { startRelay, type RelayProcessOptions, type RunningRelay } from './wiring/start-relay.js';
export {
  installOutbox,
  OUTBOX_VERSION,
  outboxSql,
  uninstallOutbox,
  type OutboxRoles,
} from './store/outbox/installation.js';
export { OutboxError } from './store/outbox/outbox-error.js';
export {
  COUNTED,
  outboxStatus,
  pruneOutbox,
  retryRefused,
  type OutboxStatus,
  type Pruned,
} from './store/outbox/upkeep.js';
export { abortHandover, handOver, type HandoverOptions } from './store/handover/handover.js';
export { prepareCell } from './store/handover/prepare.js';
export { CELL_COUNTED, cellStatus, type CellCounts, type CellStatus } from './store/handover/status.js';
export { inspect, type CheckResult, type Inspection } from './store/migrations/inspect.js';
export { isServable } from './store/migrations/schema-check.js';
export { migrate, SchemaError, type MigrationReport } from './store/migrations/migrate.js';
export type { FleetMember, FleetMetrics, Snapshot } from './telemetry/fleet-metrics.js';
export { createLogger, type Logger } from './telemetry/logger.js';
export { liveSecrets } from './wiring/line-logger.js';
export { redactUrl } from './telemetry/redaction.js';
export { VERSION } from './version.js';
