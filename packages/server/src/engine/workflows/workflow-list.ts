import { STEP } from '../../domain/dag.js';
import type { WorkflowSummaryRecord } from '../../domain/records.js';
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
export function workflowListing<Row extends WorkflowSummaryRow, Item>(
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

const UNENDED: readonly string[] = [STEP.blocked, STEP.enqueued];

export const toSummary = (row: WorkflowSummaryRow): WorkflowSummaryRecord => ({
  id: row.id,
  tenant_id: row.tenant,
  name: row.name,
  status: row.status,
  metadata: row.metadata ?? '{}',
  created_at: toInstant(row.created_at),
  started_at: toInstantOrNull(row.started_at),
  completed_at: toInstantOrNull(row.completed_at),
  steps_total: row.state.length,
  steps_ended: [...row.state].filter((letter) => !UNENDED.includes(letter)).length,
});
