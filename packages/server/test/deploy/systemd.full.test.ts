import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { OPTIONS } from '../../src/config/options.js';
import { readRepositoryFile } from '../docs/generated.js';
import { programOr } from './tools.js';

const unit = readRepositoryFile('deploy/systemd/millrace@.service');
const CREDENTIALS = 'millrace@api.service.d/credentials.conf';
const credentials = readRepositoryFile(`deploy/systemd/${CREDENTIALS}`);
const analyze = programOr('systemd-analyze', '`verify` and `security` of the unit in deploy/systemd');
const directory = mkdtempSync(join(tmpdir(), 'millrace-unit-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('the unit of a relay', () => {
  const relay = readRepositoryFile('deploy/systemd/millrace-relay.service');

  it('is as hardened as that of the service, and takes its token from a file', () => {
    const hardening = (text: string): string => text.slice(text.indexOf('# An account that exists'));
    expect(hardening(relay)).toBe(hardening(unit));
    expect(relay).toMatch(/^ExecStart=\/usr\/local\/bin\/millrace relay$/m);
    expect(relay).toMatch(/^RestartPreventExitStatus=2$/m);
    expect(relay).toMatch(/^Environment=MILLRACE_TOKEN_FILE=%d\/relay-token$/m);
    expect(relay).toMatch(/^LoadCredential=relay-token:/m);
  });

  it.runIf(analyze)('is correct', () => {
    const path = join(directory, 'millrace-relay.service');
    writeFileSync(path, relay.replace('/usr/local/bin/millrace', process.execPath));
    const { status, stdout, stderr } = spawnSync(analyze!, ['verify', '--man=no', path], { encoding: 'utf8' });
    expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
  });
});

describe('the unit of systemd', () => {
  it('waits longer for the process than the process does for its jobs', () => {
    const [, seconds] = /^TimeoutStopSec=(\d+)s$/m.exec(unit)!;
    expect(Number(seconds)).toBeGreaterThan(30);
  });

  it('does not start a process again that was called wrongly', () => {
    expect(unit).toMatch(/^RestartPreventExitStatus=2$/m);
  });

  it('hands the credentials that docs/production.md makes to the API alone, as files', () => {
    const loaded = [...credentials.matchAll(/^LoadCredential=(\S+):\/etc\/millrace\/credentials\/\1$/gm)];
    const read = [...credentials.matchAll(/^Environment=(\w+)=%d\/(\S+)$/gm)];
    expect(loaded.map(([, name]) => name)).toEqual(read.map(([, , name]) => name));
    const known = Object.values(OPTIONS).map(({ env }) => env);
    for (const [, variable, name] of read) {
      expect(known).toContain(variable);
      expect(readRepositoryFile('docs/production.md')).toContain(`> "$config/credentials/${name}"`);
    }
    expect(read).toHaveLength(4);
    expect(unit).not.toMatch(/^(LoadCredential|Environment=MILLRACE)/m);
  });

  describe.runIf(analyze)('is judged by systemd', () => {
    const path = join(directory, 'millrace@api.service');
    const run = (...args: string[]) => spawnSync(analyze!, [...args, path], { encoding: 'utf8' });
    // systemd looks for the program, which is not installed here.
    writeFileSync(path, unit.replace('/usr/local/bin/millrace', process.execPath));
    mkdirSync(join(directory, 'millrace@api.service.d'));
    writeFileSync(join(directory, CREDENTIALS), credentials);

    it('as correct', () => {
      const { status, stdout, stderr } = run('verify', '--man=no');
      expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' });
    });

    it('as well hardened', () => {
      const { status, stdout, stderr } = run('security', '--offline=true', '--threshold=15', '--no-pager');
      expect({ status, output: status === 0 ? '' : stdout + stderr }).toEqual({ status: 0, output: '' });
    });
  });
});
