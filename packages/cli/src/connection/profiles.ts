import { isObject } from '@millrace/sdk/rules';
import { Misuse } from '../invocation/exit.js';
import { configFile, readJson, writePrivately } from './folders.js';

/** What a profile may hold. */
export const SETTINGS = ['url', 'token', 'worker-token', 'admin-token'] as const;
export type Setting = (typeof SETTINGS)[number];
export type Profile = Readonly<Partial<Record<Setting, string>>>;

export interface Profiles {
  /** The profile that is used where none is named. */
  readonly current: string;
  readonly profiles: Readonly<Record<string, Profile>>;
}

export const DEFAULT_PROFILE = 'default';
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function readProfiles(env: NodeJS.ProcessEnv): Profiles {
  const path = configFile(env);
  let json: unknown;
  try {
    json = readJson(path);
  } catch (error) {
    // Not the parser's message, which quotes the text around the fault.
    throw new Misuse(`${path} ${error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'}`);
  }
  if (json === null) return { current: DEFAULT_PROFILE, profiles: {} };
  if (!isProfiles(json)) throw new Misuse(`${path} is not a configuration of millrace`);
  return json;
}

export function writeProfiles(env: NodeJS.ProcessEnv, profiles: Profiles): void {
  writePrivately(configFile(env), `${JSON.stringify(profiles, null, 2)}\n`);
}

export function checkProfileName(name: string): void {
  if (!NAME.test(name))
    throw new Misuse('the name of a profile is up to 64 letters, digits, dots, dashes, underscores');
}

function isProfiles(json: unknown): json is Profiles {
  if (!isObject(json) || typeof json.current !== 'string' || !isObject(json.profiles)) return false;
  return Object.values(json.profiles).every(
    (profile) => isObject(profile) && Object.values(profile).every((value) => typeof value === 'string'),
  );
}
