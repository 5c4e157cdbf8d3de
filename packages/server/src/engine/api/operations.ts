import type { DryRunRecord, OperationRecord, OperationSpec } from '../../domain/operations.js';
import type { Created } from './creates.js';
import type { CursorQuery } from './lists.js';

export interface OperationPage {
  readonly operations: readonly OperationRecord[];
  readonly nextCursor: string | null;
}

/** Changes to many things at once, made in the background. */
export interface OperationsApi {
  create(tenant: string, spec: OperationSpec, idempotencyKey: string | null): Promise<Created>;
  /** What `create` would work on. */
  dryRun(tenant: string, spec: OperationSpec): Promise<DryRunRecord>;
  get(tenant: string, id: string): Promise<OperationRecord>;
  /** The newest first. */
  list(tenant: string, query: CursorQuery): Promise<OperationPage>;
  stop(tenant: string, id: string): Promise<void>;
}
