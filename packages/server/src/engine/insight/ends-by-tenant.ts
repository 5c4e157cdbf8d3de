import { SERIES_TENANTS_SHOWN } from '@millrace/contract';
import { plotOf, type Ended, type EndsByTenant, type PlotSteps } from '../../domain/ends-by-tenant.js';
import type { Database } from '../../store/connection/database.js';
import { loadStatements } from '../../store/sql.js';
import type { AdminSeriesQuery } from '../api.js';

/** Whose jobs ended over time, for operators: do the tenants of a queue get their share? */
const sql = loadStatements('insight/ends-by-tenant.sql');

/** Such reads take turns with each other, not with those of tenants, none of whom has a name with a NUL. */
const TURN = '\0ends';
/** How many rows of series, of all tenants and tasks, one answer looks at. */
const MAX_ROWS = 200_000;

interface EndsRow extends PlotSteps {
  readonly counted_from: number | null;
  /** In JSON. */
  readonly ended: string;
}

export async function endsByTenant(db: Database, { queue, from, to }: AdminSeriesQuery): Promise<EndsByTenant> {
  const bounds = { max_rows: MAX_ROWS, max_tenants: SERIES_TENANTS_SHOWN };
  const statement = sql.ends_by_tenant({ queue: queue ?? '', since: from, until: to, ...bounds });
  const [row] = await db.count<EndsRow>({ tenant: TURN, statement });
  if (row === undefined) throw new Error('the ends by tenant came back empty');
  return plotOf(row, JSON.parse(row.ended) as Ended[], row.counted_from);
}
