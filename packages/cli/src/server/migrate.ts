import { migrate } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';
import { withDatabase } from './with-database.js';

/** Brings the schema up to date, for those who do not let the service do so when it starts. */
export async function migrateCommand(invocation: Invocation): Promise<number> {
  const { applied, current } = await withDatabase(invocation, migrate);
  for (const name of applied) await invocation.io.print(`applied ${name}`);
  await invocation.io.print(
    `the schema is at version ${current}${applied.length === 0 ? '; there was nothing to do' : ''}`,
  );
  return 0;
}
