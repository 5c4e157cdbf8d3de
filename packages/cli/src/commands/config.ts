import type { Run } from '../invocation/context.js';
import { configFile } from '../connection/folders.js';
import { checkProfileName, readProfiles, writeProfiles, type Setting } from '../connection/profiles.js';
import { masked, targetOf } from '../connection/target.js';
import { readAll } from '../terminal/io.js';
import { painter } from '../terminal/style.js';
import { table } from '../show/table.js';
import type * as specs from '../specs/local.js';
import { didYouMean } from '../invocation/suggest.js';
import { EXIT, Misuse } from '../invocation/exit.js';

/** Longer than any token. */
const MOST = 64 * 1024;

export const set: Run<(typeof specs)['configSet']['options']> = async ({ args, env, io, options }) => {
  const [setting = '', given = ''] = args;
  const value = (given === '-' ? await readAll(io, MOST) : given)?.trim();
  if (!value) throw new Misuse('VALUE is empty, or too long');
  if (setting === 'url') checkUrl(value);
  // What a header cannot carry.
  else if (!/^[\x21-\x7e]+$/.test(value)) throw new Misuse('a token has no spaces and no control characters');
  const profiles = readProfiles(env);
  const name = options.profile ?? profiles.current;
  checkProfileName(name);
  const changed = { ...profiles.profiles[name], [setting as Setting]: value };
  writeProfiles(env, { ...profiles, profiles: { ...profiles.profiles, [name]: changed } });
  await io.print(`stored the ${setting} of the profile ${name} in ${configFile(env)}`);
  return EXIT.ok;
};

function checkUrl(text: string): void {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Misuse('the url is not an address such as https://millrace.example.com');
  }
  if (!/^https?:$/.test(url.protocol)) throw new Misuse('the url must begin with http:// or https://');
  if (url.username !== '' || url.password !== '')
    throw new Misuse('the url must not contain a password; set the token');
}

interface Row {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

export const show: Run<(typeof specs)['configShow']['options']> = async ({ connection, env, io, options }) => {
  const { url, token, workerToken, adminToken } = targetOf(connection, env);
  const { current, profiles } = readProfiles(env);
  const rows: Row[] = [
    { name: 'url', value: url.value.replace(/\/\/[^/@]*@/, '//…@'), source: url.source },
    { name: 'token', value: tokenText(token), source: token.source },
    { name: 'worker-token', value: tokenText(workerToken), source: workerToken.source },
    { name: 'admin-token', value: tokenText(adminToken), source: adminToken.source },
    {
      name: 'profile',
      value: connection.profile ?? current,
      source: connection.profile ? '--profile' : configFile(env),
    },
    { name: 'profiles', value: Object.keys(profiles).sort().join(', ') || 'none', source: configFile(env) },
  ];
  if (options.json) await io.print(JSON.stringify(Object.fromEntries(rows.map(({ name, ...rest }) => [name, rest]))));
  else {
    const columns = io.terminal.stdout ? io.terminal.columns() : Infinity;
    const look = { columns, paint: painter(io, env) };
    await io.print(
      table<Row>(
        [
          { title: 'NAME', cell: ({ name }) => name },
          { title: 'VALUE', cell: ({ value }) => value },
          { title: 'SOURCE', cell: ({ source }) => source },
        ],
        rows,
        look,
      ),
    );
  }
  return EXIT.ok;
};

/** The token of --dev is no secret. */
const tokenText = ({ value, source }: { value: string; source: string }): string =>
  source.startsWith('default') ? value : masked(value);

export const use: Run<(typeof specs)['configUse']['options']> = async ({ args, env, io }) => {
  const [name = ''] = args;
  const profiles = readProfiles(env);
  if (!Object.hasOwn(profiles.profiles, name)) {
    const hint = didYouMean(name, Object.keys(profiles.profiles)) || '; millrace config set --profile makes one';
    throw new Misuse(`there is no such profile${hint}`);
  }
  writeProfiles(env, { ...profiles, current: name });
  await io.print(`the current profile is ${name}`);
  return EXIT.ok;
};
