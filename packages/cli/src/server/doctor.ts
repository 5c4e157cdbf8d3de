import { inspect, isServable, type Inspection } from '@millrace/server';
import type { Invocation } from '../invocation/invocation.js';
import { eachDatabase, type Done } from './each-database.js';

/** Checks a database's invariants without changing anything. Exits with 1 if one of them does not hold. */
export async function doctor(invocation: Invocation): Promise<number> {
  const asJson = invocation.argv.includes('--json');
  const argv = invocation.argv.filter((flag) => flag !== '--json');
  const inspections = await eachDatabase({ ...invocation, argv }, inspect);
  await invocation.io.print(asJson ? inJson(inspections) : inspections.map(named).join('\n'));
  return inspections.every(({ result }) => isHealthy(result)) ? 0 : 1;
}

/** Of one database as it is; of several a list, each with its name. */
function inJson(inspections: readonly Done<Inspection>[]): string {
  const [first] = inspections;
  const only = inspections.length === 1 && first?.name === '' ? first.result : null;
  return JSON.stringify(only ?? inspections.map(({ name, result }) => ({ name, ...result })), null, 2);
}

const named = ({ name, result }: Done<Inspection>): string =>
  name === '' ? inWords(result) : `${name}:\n${inWords(result)}`;

const isHealthy = ({ schema, checks }: Inspection): boolean =>
  isServable(schema) && checks.every(({ violations }) => violations === 0);

function inWords(inspection: Inspection): string {
  const { schema, checks } = inspection;
  if (!isServable(schema)) {
    return `the schema is at version ${schema.found}, this program expects ${schema.expected}: nothing was checked`;
  }
  const lines = checks.flatMap(({ check, violations, examples }) => [
    `${violations === 0 ? 'ok  ' : 'FAIL'} ${check.replaceAll('_', ' ')}${violations === 0 ? '' : `: ${violations}`}`,
    ...examples.map(({ subject, finding }) => `       ${subject}: ${finding}`),
  ]);
  return [...lines, isHealthy(inspection) ? 'every invariant holds' : 'some invariants do not hold'].join('\n');
}
