import { bearerTokenOf } from '@millrace/sdk/rules';
import type { CONNECTION, Values } from '../specs/spec.js';
import { didYouMean } from '../invocation/suggest.js';
import { Misuse } from '../invocation/exit.js';
import { readProfiles, type Profile, type Profiles, type Setting } from './profiles.js';

/** A value and where it came from, as `config show` names it. */
export interface Sourced {
  readonly value: string;
  readonly source: string;
}

export interface Target {
  readonly url: Sourced;
  readonly token: Sourced;
  readonly workerToken: Sourced;
  readonly adminToken: Sourced;
}

const LOCAL = 'http://127.0.0.1:8000';
/** Accepted by a server with --dev, like any other. */
const DEV_TOKEN = 'dev';

/**
 * Where the server is and who we are: a flag wins over `--profile`, that over a variable, that over the current
 * profile, and without any of them it is a server with --dev on this machine. A profile's tokens are sent to the
 * profile's own server only: naming another one with `--url` does not hand them over.
 */
export function targetOf(flags: Values<typeof CONNECTION>, env: NodeJS.ProcessEnv): Target {
  const profiles = readProfiles(env);
  const named = flags.profile === undefined ? null : namedProfile(profiles, flags.profile);
  const layers = (setting: Setting, flag: string | undefined, variables: readonly string[]): Sourced[] => [
    ...sourced(flag, `--${setting}`),
    ...sourced(named?.[setting], `profile ${flags.profile ?? ''}`),
    ...variables.flatMap((variable) => sourced(env[variable] || undefined, variable)),
    ...(named === null ? sourced(profiles.profiles[profiles.current]?.[setting], `profile ${profiles.current}`) : []),
  ];
  const url = layers('url', flags.url, ['MILLRACE_URL'])[0] ?? { value: LOCAL, source: 'default' };
  checkUrl(url);
  const profile = named ?? profiles.profiles[profiles.current] ?? {};
  const sendable = ({ source }: Sourced): boolean =>
    !source.startsWith('profile ') || same(profile.url ?? LOCAL, url.value);
  const pick = (found: readonly Sourced[]): Sourced => {
    const token = found.find(sendable);
    if (token !== undefined) return sendableToken(token);
    const kept = found[0];
    return {
      value: DEV_TOKEN,
      source: kept === undefined ? 'default' : `default; that of ${kept.source} is for its own url`,
    };
  };
  return {
    url,
    token: pick(layers('token', flags.token, ['MILLRACE_TOKEN'])),
    workerToken: pick(layers('worker-token', flags.token, ['MILLRACE_WORKER_TOKEN', 'MILLRACE_TOKEN'])),
    adminToken: pick(layers('admin-token', flags.token, ['MILLRACE_ADMIN_TOKEN', 'MILLRACE_TOKEN'])),
  };
}

const sourced = (value: string | undefined, source: string): Sourced[] =>
  value === undefined ? [] : [{ value, source }];

const same = (one: string, other: string): boolean => one.replace(/\/+$/, '') === other.replace(/\/+$/, '');

function namedProfile({ profiles }: Profiles, name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (profile !== undefined) return profile;
  throw new Misuse(
    `there is no such profile${didYouMean(name, Object.keys(profiles)) || '; see millrace config show'}`,
  );
}

function checkUrl({ value, source }: Sourced): void {
  let protocol: string;
  try {
    ({ protocol } = new URL(value));
  } catch {
    protocol = '';
  }
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Misuse(`the address from ${source} must begin with http:// or https://`);
  }
}

/** Without the line end that a secret has when it comes from a file. The message does not repeat it. */
function sendableToken({ value, source }: Sourced): Sourced {
  const token = bearerTokenOf(value);
  if (token !== null) return { value: token, source };
  throw new Misuse(`the token from ${source} must consist of visible ASCII characters without spaces`);
}

/** A token as it may be shown: enough to tell two apart, too little to use. */
export const masked = (token: string): string =>
  token.length < 16 ? `… (${token.length} characters)` : `${token.slice(0, 4)}… (${token.length} characters)`;
