import { migrate } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';
import { eachDatabase } from './each-database.js';

/** Brings the schema up to date, for those who do not let the service do so when it starts. */
export async function migrateCommand(invocation: Invocation): Promise<number> {
  for (const { name, result } of await eachDatabase(invocation, migrate)) {
    const { applied, current } = result;
    const of = name === '' ? '' : `${name}: `;
    for (const migration of applied) await invocation.io.print(`${of}applied ${migration}`);
    await invocation.io.print(
      `${of}the schema is at version ${current}${applied.length === 0 ? '; there was nothing to do' : ''}`,
    );
  }
  return 0;
}
