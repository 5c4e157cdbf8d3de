import type { StepStatus } from '@millrace/contract';
import { STEP, type StepLetter } from '../../domain/dag.js';
import type { WorkflowSummaryRecord } from '../../domain/workflow-records.js';
import {
  countWorkflows,
  listWorkflows,
  scanWorkflows,
  workflowsOf,
  workflowsWithIds,
  type WorkflowFilter,
  type WorkflowView,
} from '../../store/lists/list-statements.js';
import { toInstant, toInstantOrNull, type WorkflowSummaryRow } from '../../store/rows.js';
import { ID_CURSOR, idsOf } from '../shared/cursor.js';
import type { Listing } from '../shared/page.js';
import { searchById } from '../shared/search.js';
import type { WorkflowListQuery } from '../api.js';

/** The workflows of a tenant, page by page, with all or with little of what they hold. */
export function workflowListing<Row extends Pick<WorkflowSummaryRow, 'id' | 'status'>, Item>(
  tenant: string,
  query: WorkflowListQuery,
  view: WorkflowView,
  toItems: Listing<Row, string, Item>['toItems'],
): Listing<Row, string, Item> {
  const filter: WorkflowFilter = { ...query, tenant };
  return {
    list: (window) => listWorkflows(filter, window, view),
    count: () => countWorkflows(filter),
    rowsOf: (rows, budget) => workflowsOf(tenant, idsOf(rows), budget, view),
    toItems,
    placeOf: ({ id }) => id,
    cursors: ID_CURSOR,
    search:
      filter.name === null
        ? null
        : {
            ...searchById,
            scan: (scan) => scanWorkflows(filter, scan),
            rowsAt: (ids, ascending) => workflowsWithIds(tenant, ids, ascending, view),
            fits: ({ status }) => filter.status === null || filter.status === status,
          },
  };
}

/** Of a step whose job has not ended, the letter does not say whether it has begun. */
const STATUS_OF: Readonly<Record<Exclude<StepLetter, 'q'>, StepStatus>> = {
  [STEP.blocked]: 'pending',
  [STEP.completed]: 'completed',
  [STEP.failed]: 'failed',
  [STEP.cancelled]: 'cancelled',
  [STEP.skipped]: 'skipped',
  [STEP.leftOut]: 'skipped',
  [STEP.passed]: 'skipped',
};

/** `waiting`: of the steps that have a job, those that have not begun. */
function stepsByStatus(state: string, waiting: number): Record<StepStatus, number> {
  const counts = { pending: 0, running: 0, completed: 0, failed: 0, cancelled: 0, skipped: 0 };
  let open = 0;
  for (const letter of state as Iterable<StepLetter>) {
    if (letter === STEP.enqueued) open++;
    else counts[STATUS_OF[letter]]++;
  }
  const pending = Math.min(open, waiting);
  return { ...counts, pending: counts.pending + pending, running: open - pending };
}

export function toSummary(row: WorkflowSummaryRow): WorkflowSummaryRecord {
  const steps = stepsByStatus(row.state, row.waiting);
  return {
    id: row.id,
    tenant_id: row.tenant,
    name: row.name,
    status: row.status,
    metadata: row.metadata ?? '{}',
    created_at: toInstant(row.created_at),
    started_at: toInstantOrNull(row.started_at),
    completed_at: toInstantOrNull(row.completed_at),
    steps_total: row.state.length,
    steps_ended: row.state.length - steps.pending - steps.running,
    steps_by_status: steps,
    failed_step:
      row.failed_step === null ? null : (JSON.parse(row.failed_step) as WorkflowSummaryRecord['failed_step']),
  };
}
