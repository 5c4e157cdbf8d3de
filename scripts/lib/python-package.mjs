/** What is published of clients/python: a wheel and a source distribution. */
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pythonTools } from './python.mjs';

/**
 * Builds both into a folder, and installs each into an empty environment below `scratch`, where it must name its
 * version. Resolves to why there is no Python to do it with, or to null.
 *
 * @throws Error if something fails
 */
export async function packPython({ source, out, scratch }) {
  const { program, missing } = await pythonTools();
  if (missing !== null) return missing;
  run(program, ['-m', 'build', '--no-isolation', '--outdir', out, source]);
  const made = readdirSync(out).filter((name) => name.startsWith('millrace_client-'));
  const versions = made.map((name, n) => installedVersion(program, join(out, name), join(scratch, `python-${n}`)));
  if (made.length !== 2 || versions[0] !== versions[1]) throw new Error(`${made.join(', ')}: ${versions.join(', ')}`);
  return null;
}

/** Offline, and with nothing else in the environment. */
function installedVersion(program, archive, folder) {
  run(program, ['-m', 'venv', '--without-pip', folder]);
  const python = join(folder, 'bin', 'python');
  const packages = run(python, ['-c', 'import sysconfig; print(sysconfig.get_path("purelib"))']).trim();
  const install = ['install', '--quiet', '--disable-pip-version-check', '--no-deps', '--no-index'];
  run(program, ['-m', 'pip', ...install, '--no-build-isolation', '--target', packages, archive]);
  return run(python, ['-I', '-m', 'millrace', '--version']).trim();
}

function run(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return stdout;
}
