import { execFile } from 'node:child_process';
import { isServable, type Inspection } from '@millrace/server';

/** `millrace doctor --json` on a database: invariants 1 to 6, as far as the database alone shows them. */
export async function doctor(millrace: string, databaseUrl: string): Promise<readonly string[]> {
  const { stdout, stderr } = await run(millrace, databaseUrl);
  if (!stdout.trimStart().startsWith('{')) return [`millrace doctor could not examine the database: ${stderr.trim()}`];
  const { schema, checks } = JSON.parse(stdout) as Inspection;
  if (!isServable(schema)) return [`millrace doctor found the schema ${schema.kind}`];
  return checks
    .filter(({ violations }) => violations > 0)
    .map(({ check, violations, examples }) => {
      const [first] = examples;
      const example = `${first?.subject ?? ''}: ${first?.finding ?? ''}`;
      return `doctor: ${check.replaceAll('_', ' ')}: ${violations}, such as ${example}`;
    });
}

function run(millrace: string, databaseUrl: string): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATABASE_URL: databaseUrl };
  return new Promise((resolve) => {
    execFile(process.execPath, [millrace, 'doctor', '--json'], { env, maxBuffer: 1 << 26 }, (_error, stdout, stderr) =>
      resolve({ stdout, stderr }),
    );
  });
}
