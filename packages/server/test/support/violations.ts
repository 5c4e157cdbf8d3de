import { inspect, type CheckResult } from '../../src/store/migrations/inspect.js';
import type { TestDatabase } from './database.js';

/** What doctor finds to be wrong. */
export async function violationsIn(database: TestDatabase): Promise<CheckResult[]> {
  const inspections = await Promise.all(database.parts.map(({ url }) => inspect(url)));
  return inspections.flatMap(({ checks }) => checks).filter(({ violations }) => violations > 0);
}
