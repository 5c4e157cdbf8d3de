/**
 * docs/licences.md: the licence of everything that users get with Millrace.
 *
 *   npm run licences               writes it
 *   npm run licences -- --check    exits with 1 if it is stale, or if a licence is none of those that we
 *                                  accept (npm run test:full)
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shippedPackages } from './lib/lockfile.mjs';
import { root } from './lib/tools.mjs';

/** Permissive licences, which ask for attribution at most. */
const ACCEPTED = ['0BSD', 'Apache-2.0', 'BlueOak-1.0.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT', 'Unlicense'];
const FILE = join(root, 'docs/licences.md');

const packages = shippedPackages(root);
const refused = packages.filter(({ licence }) => !ACCEPTED.includes(licence));
for (const { name, version, licence } of refused) console.error(`${name}@${version}: ${licence} is not accepted`);

const text = document();
const isStale = readOr(FILE, '') !== text;
if (!process.argv.includes('--check')) writeFileSync(FILE, text);
else if (isStale) console.error('docs/licences.md is stale: npm run licences');
process.exit(refused.length > 0 || (isStale && process.argv.includes('--check')) ? 1 : 0);

function document() {
  const rows = packages.map(({ name, version, licence, how }) => `| \`${name}\` | ${version} | ${licence} | ${how} |`);
  const counts = ACCEPTED.map((licence) => [licence, packages.filter((each) => each.licence === licence).length]);
  const summary = counts.filter(([, count]) => count > 0).map(([licence, count]) => `${licence} ${count}`);
  return `<!-- Written by \`npm run licences\` from package-lock.json; a test compares. -->

# Licences

Millrace is under the [MIT licence](../LICENSE). These packages of others come with it: \`installed\` with the packages that
we publish, or \`bundled\` into the files of the dashboard. Only permissive licences are accepted; a test refuses any other.
The embedded PostgreSQL, which is optional, contains PostgreSQL itself under the PostgreSQL Licence.

${packages.length} packages: ${summary.join(', ')}.

| package | version | licence | |
|---|---|---|---|
${rows.join('\n')}
`;
}

function readOr(path, fallback) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return fallback;
  }
}
