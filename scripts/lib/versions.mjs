/** Where the version of a release stands: functions from text to text, so that a dry run can apply them too. */

/** The text of a file of the repository, under a new version. */
export function withVersion(path, text, version, day) {
  if (path === 'CHANGELOG.md') return withDate(text, version, day);
  if (path === 'deploy/helm/millrace/Chart.yaml')
    return text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`);
  if (path === 'clients/python/src/millrace/__init__.py')
    return text.replace(/^__version__ = .*$/m, `__version__ = "${version}"`);
  if (path === 'package-lock.json') return inLockfile(text, version);
  if (/^(packages|tools)\/[^/]+\/package\.json$/.test(path)) return inManifest(text, version);
  return text;
}

/** The section of a version, or of the newest one (`null`), without its heading; null if there is none. */
export function changelogOf(text, version) {
  const sections = text.split(/^## /m).slice(1);
  const found = version === null ? sections[0] : sections.find((each) => each.startsWith(`[${version}]`));
  return found === undefined ? null : found.slice(found.indexOf('\n')).trim();
}

const withDate = (text, version, day) => text.replace(`## [${version}] - unreleased`, `## [${version}] - ${day}`);

const isOurs = (name) => name === 'millrace' || name.startsWith('@millrace/');

/** Packages of ours name each other by exact version. */
function renew(manifest, version) {
  if (manifest.version !== undefined) manifest.version = version;
  for (const field of ['dependencies', 'optionalDependencies', 'devDependencies']) {
    for (const name of Object.keys(manifest[field] ?? {})) if (isOurs(name)) manifest[field][name] = version;
  }
}

function inManifest(text, version) {
  const manifest = JSON.parse(text);
  if (!isOurs(manifest.name)) return text;
  renew(manifest, version);
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function inLockfile(text, version) {
  const lock = JSON.parse(text);
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (/^(packages|tools)\//.test(path) && !path.includes('node_modules/')) renew(entry, version);
  }
  return `${JSON.stringify(lock, null, 2)}\n`;
}
