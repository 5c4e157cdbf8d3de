import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../../../server/test/support/until.js';
import { COMMANDS } from '../../src/dispatch/registry.js';
import { newCli, type Cli } from '../support/cli.js';

/** What needs no server: help, suggestions, configuration, completion. */
const NOWHERE = 'http://127.0.0.1:1';
const cli = (): Cli => newCli(NOWHERE, 'token-of-the-tests-1234');

describe('help', () => {
  it('lists every command', async () => {
    const { code, stdout, stderr } = await cli()(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const { spec } of COMMANDS) expect(stdout).toMatch(new RegExp(`^ {2}${spec.name} {2,}\\S`, 'm'));
    expect((await cli()(['help'])).stdout).toBe(stdout);
  });

  it.each(COMMANDS.map(({ spec }) => [spec.name, spec] as const))(
    '%s has its own, with examples',
    async (name, spec) => {
      const { code, stdout } = await cli()([...name.split(' '), '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain(`Usage: millrace ${name}`);
      for (const option of Object.keys(spec.options)) expect(stdout).toContain(`--${option}`);
      expect(spec.examples.length).toBeGreaterThan(0);
      for (const { command } of spec.examples) expect(stdout).toContain(command);
      expect((await cli()(['help', ...name.split(' ')])).stdout).toBe(stdout);
    },
  );

  it('is short for somebody who types the name of the program and nothing else', async () => {
    const { code, stdout } = await cli()([]);
    expect(code).toBe(0);
    for (const first of ['millrace dev', 'millrace run echo', 'millrace open']) expect(stdout).toContain(first);
    expect(stdout.split('\n').length).toBeLessThan(10);
  });

  it('is not needed for `queues list`', async () => {
    const [listed, alone] = await Promise.all([cli()(['queues', 'list']), cli()(['queues'])]);
    expect(listed).toEqual(alone);
    expect(listed.stderr).toContain('no answer');
  });

  it('of a group is also what the group alone answers, as a mistake', async () => {
    const asked = await cli()(['jobs', '--help']);
    expect(asked.stdout).toContain('jobs attempts');
    expect(await cli()(['jobs'])).toEqual({ code: 2, stdout: '', stderr: asked.stdout });
  });
});

describe('what was mistyped', () => {
  it.each([
    [['job', 'list'], 'unknown command; did you mean jobs?'],
    [['jobs', 'lsit'], 'unknown command; did you mean jobs list?'],
    [['queues', 'gte', 'x'], 'unknown command; did you mean queues get?'],
    [['servee'], 'unknown command; did you mean serve?'],
    [['frobnicate'], 'unknown command; see --help'],
    [
      ['logs', 'x'],
      'unknown command; millrace jobs logs ID shows what the handlers of a job wrote, ' +
        'millrace tail follows jobs as they end',
    ],
    [['constructor'], 'unknown command; see --help'],
    [['jobs', 'list', '--quue', 'x'], 'unknown option --quue; did you mean --queue?'],
    [['jobs', 'list', '--work', 'x'], 'unknown option --work; did you mean --workflow?'],
    [['comp', 'bash'], 'unknown command; did you mean completion?'],
    [['jobs', 'list', '--creat=x'], 'unknown option --creat; see millrace jobs list --help'],
    [['jobs', 'list', '--tokn=SECRET'], 'unknown option --tokn; did you mean --token?'],
    [['jobs', 'list', '--constructor'], 'unknown option --constructor; see millrace jobs list --help'],
    [
      ['jobs', 'list', '--status=faild'],
      '--status is one of pending, running, retrying, completed, failed, cancelled; did you mean failed?',
    ],
    [['jobs', 'list', '--json=yes'], '--json takes no value'],
    [['jobs', 'list', '--queue'], '--queue needs a value'],
    [['jobs', 'list', '--queue', '--json'], '--queue needs a value; one that begins with a dash is written --queue=…'],
    [['jobs', 'list', 'SECRET'], 'jobs list takes no arguments, not 1; quote what has spaces'],
    [
      ['jobs', 'get'],
      'jobs get needs ID: the id of a job, @last, or @1 for the first row of the last list; ' +
        'see millrace jobs get --help',
    ],
    [['completion', 'bsh'], 'SHELL is one of bash, zsh, fish; did you mean bash?'],
    [['jobs', 'get', '@last'], 'no job has been made from here yet'],
    [['jobs', 'get', '@1'], 'there is no last list; call millrace jobs list first'],
    [['jobs', 'list', '--url=ftp://x'], 'the address from --url must begin with http:// or https://'],
    [
      ['jobs', 'list', '--token=sesame\nopen'],
      'the token from --token must consist of visible ASCII characters without spaces',
    ],
    [['jobs', 'list', '--profile=none'], 'there is no such profile; see millrace config show'],
  ])('%j', async (args, message) => {
    expect(await cli()(args)).toEqual({ code: 2, stdout: '', stderr: `millrace: ${message}\n` });
  });
});

describe('config', () => {
  const SECRET = 'token-of-production-abcdef';
  const own = { MILLRACE_URL: '', MILLRACE_TOKEN: '' };
  const shown = async (millrace: Cli, args: readonly string[] = [], env: Record<string, string> = own) =>
    JSON.parse((await millrace(['config', 'show', '--json', ...args], { env })).stdout) as Record<
      'url' | 'token',
      { value: string; source: string }
    >;

  it('keeps profiles in a file for its owner alone, and never shows a token whole', async () => {
    const millrace = cli();
    await millrace(['config', 'set', 'url', 'https://millrace.example.com', '--profile=production']);
    const set = await millrace(['config', 'set', 'token', '-', '--profile=production'], { stdin: `${SECRET}\n` });
    expect(set.code).toBe(0);
    const file = join(millrace.home, '.config', 'millrace', 'config.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(millrace.home, '.config', 'millrace')).mode & 0o777).toBe(0o700);
    expect(readFileSync(file, 'utf8')).toContain(SECRET);
    const table = await millrace(['config', 'show', '--profile=production'], { env: own });
    for (const { stdout, stderr } of [set, table]) expect(stdout + stderr).not.toContain(SECRET);
    expect(table.stdout).toMatch(/^token +toke… \(26 characters\) +profile production$/m);
  });

  it('takes a flag before --profile, that before a variable, that before the current profile', async () => {
    const millrace = cli();
    for (const name of ['one', 'two'])
      await millrace(['config', 'set', 'url', `https://${name}.example.com`, `--profile=${name}`]);
    const variables = { MILLRACE_URL: 'https://variable.example.com', MILLRACE_TOKEN: '' };
    expect((await shown(millrace)).url).toEqual({ value: 'http://127.0.0.1:8000', source: 'default' });
    expect((await millrace(['config', 'use', 'one'], { env: own })).stdout).toBe('the current profile is one\n');
    expect((await shown(millrace)).url).toEqual({ value: 'https://one.example.com', source: 'profile one' });
    expect((await shown(millrace, [], variables)).url.source).toBe('MILLRACE_URL');
    expect((await shown(millrace, ['--profile=two'], variables)).url.value).toBe('https://two.example.com');
    const flags = ['--profile=two', '--url=https://flag.example.com'];
    expect((await shown(millrace, flags, variables)).url).toEqual({
      value: 'https://flag.example.com',
      source: '--url',
    });
    expect((await millrace(['config', 'use', 'tow'], { env: own })).stderr).toBe(
      'millrace: there is no such profile; did you mean two?\n',
    );
  });

  it("sends a profile's token to the profile's own server only", async () => {
    const millrace = cli();
    await millrace(['config', 'set', 'url', 'https://millrace.example.com'], { env: own });
    await millrace(['config', 'set', 'token', SECRET], { env: own });
    expect((await shown(millrace)).token.source).toBe('profile default');
    const elsewhere = await shown(millrace, ['--url=https://elsewhere.example.com']);
    expect(elsewhere.token).toEqual({ value: 'dev', source: 'default; that of profile default is for its own url' });
    expect((await shown(millrace, ['--url=https://millrace.example.com/'])).token.source).toBe('profile default');
  });

  it.each([
    [['url', 'example.com'], 'the url is not an address such as https://millrace.example.com'],
    [['url', 'https://u:hush@example.com'], 'the url must not contain a password; set the token'],
    [['token', 'a b'], 'a token has no spaces and no control characters'],
    [['tokn', 'x'], 'SETTING is one of url, token, worker-token, admin-token; did you mean token?'],
  ])('set %j is refused', async (args, message) => {
    expect((await cli()(['config', 'set', ...args])).stderr).toBe(`millrace: ${message}\n`);
  });

  it('is not repeated where it is broken', async () => {
    const millrace = cli();
    await millrace(['config', 'set', 'token', SECRET]);
    const file = join(millrace.home, '.config', 'millrace', 'config.json');
    writeFileSync(file, `{"token": ${SECRET}}`);
    expect((await millrace(['config', 'show'])).stderr).toBe(`millrace: ${file} is not JSON\n`);
  });
});

describe('completion', () => {
  it.each([
    [['jo'], ['jobs']],
    [
      ['jobs', 'wa'],
      ['watch', 'wait'],
    ],
    [['jobs', 'list', '--st'], ['--status']],
    [['jobs', 'list', '--status', 'f'], ['failed']],
    [
      ['queues', ''],
      ['get', 'pause', 'resume', 'set'],
    ],
    [
      ['queues', '--j'],
      ['--json', '--jsonl'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['config', 'set', 'w'], ['worker-token']],
    [['jobs', 'list', '--status=f'], ['--status=failed']],
    [['jobs', 'list', '--status', '=', 'f'], ['failed']],
    [
      ['completion', '--x', '='],
      ['bash', 'zsh', 'fish'],
    ],
    [['--v'], ['--version']],
    [['jobs', 'import', ''], []],
    [['frobnicate', ''], []],
  ])('of %j', async (words, expected) => {
    const { code, stdout } = await cli()(['__complete', ...words]);
    expect([code, stdout.split('\n').filter(Boolean)]).toEqual([0, expected]);
  });

  it('offers the profiles that there are', async () => {
    const millrace = cli();
    await millrace(['config', 'set', 'url', 'https://x.example.com', '--profile=production']);
    for (const words of [
      ['config', 'use', ''],
      ['jobs', 'list', '--profile', 'pro'],
    ]) {
      expect((await millrace(['__complete', ...words])).stdout).toBe('production\n');
    }
  });
});

describe('open', () => {
  it('prints the address, without credentials', async () => {
    const { stdout } = await cli()(['open', '--url=http://u:hush@localhost:8000/']);
    expect(stdout).toBe('http://localhost:8000/ui/\n');
  });

  it.runIf(process.platform === 'linux')(
    'shows it in the browser, from a terminal and unless told not to',
    async () => {
      const millrace = cli();
      const [browser, shown] = [join(millrace.home, 'browser'), join(millrace.home, 'shown')];
      writeFileSync(browser, `#!/bin/sh\necho "$1" >>'${shown}'\n`, { mode: 0o755 });
      const inTerminal = { terminal: { stdout: true }, env: { BROWSER: browser } };
      await millrace(['open', '--url=http://localhost:1/', '--print'], inTerminal);
      await millrace(['open', '--url=http://localhost:2/'], { env: { BROWSER: browser } });
      expect((await millrace(['open', '--url=http://localhost:3/'], inTerminal)).code).toBe(0);
      const opened = (): string => (existsSync(shown) ? readFileSync(shown, 'utf8') : '');
      await until(() => opened().endsWith('\n'), { what: 'the browser' });
      expect(opened()).toBe('http://localhost:3/ui/\n');
    },
  );

  it('has printed the address where there is no browser', async () => {
    const options = { terminal: { stdout: true }, env: { BROWSER: '/not/there' } };
    expect(await cli()(['open', '--url=http://localhost:4/'], options)).toMatchObject({ code: 0, stderr: '' });
  });
});
