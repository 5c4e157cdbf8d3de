import { parseArgs } from 'node:util';
import { OPTIONS, type Option, type OptionValues } from './options.js';
import { InvalidValue } from './values.js';

/** A mistake in how the program was called: one line for the operator, exit code 2, nothing opened. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly exitCode = 2;
}

const BOOLEAN_WORDS: ReadonlySet<string> = new Set(['true', 'false', '1', '0']);

type FlagToken = Extract<NonNullable<ReturnType<typeof parseArgs>['tokens']>[number], { kind: 'option' }>;
type Source = readonly [name: string, text: string];

/** Reads every option from its flag, else its variable, else its default. */
export function readOptions(argv: readonly string[], env: NodeJS.ProcessEnv): OptionValues {
  const flags = readFlags(argv);
  const values = Object.entries<Option<unknown>>(OPTIONS).map(([key, each]) => {
    const source = flags.get(each.flag) ?? variable(each, env);
    return [key, source === undefined ? each.fallback : readValue(each, source)];
  });
  return Object.fromEntries(values) as OptionValues;
}

function readFlags(argv: readonly string[]): ReadonlyMap<string, Source> {
  const known = new Map(Object.values<Option<unknown>>(OPTIONS).map((each) => [each.flag, each]));
  const options = Object.fromEntries(
    [...known.values()].map((each) => [
      each.flag,
      { type: each.isBoolean ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  // Not strict: its messages repeat what was typed, and that may be a misspelt flag with a secret behind it.
  const args = withJoinedWords(argv, known);
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });

  const flags = new Map<string, Source>();
  let previous = '';
  for (const token of tokens) {
    if (token.kind !== 'option')
      throw new UsageError(`unexpected argument${previous && ` after ${previous}`}; see --help`);
    const each = known.get(token.name);
    if (each === undefined || !token.rawName.startsWith('--')) {
      throw new UsageError(`unknown flag ${token.rawName}; ${MEANT[token.rawName] ?? 'see --help'}`);
    }
    const before = flags.get(each.flag);
    if (before && !each.isRepeatable) throw new UsageError(`${token.rawName} is given more than once`);
    const text = flagText(each, token);
    if (before && text.trim() === '') throw new UsageError(`${token.rawName} must not be empty`);
    flags.set(each.flag, [token.rawName, before ? `${before[1]}\n${text}` : text]);
    previous = token.rawName;
  }
  return flags;
}

/** What people type who know another server. A misspelt flag is not guessed at: it may be a secret. */
const MEANT: Readonly<Record<string, string>> = {
  '--port': 'the port of the API is --api-port',
  '-p': 'the port of the API is --api-port',
  '--db': 'the database is --database-url',
  '--database': 'the database is --database-url',
};

/** `--auto-migrate false`: the parser would take the word for a separate argument. */
function withJoinedWords(argv: readonly string[], known: ReadonlyMap<string, Option<unknown>>): string[] {
  const takesWord = (arg: string): boolean => arg.startsWith('--') && known.get(arg.slice(2))?.isBoolean === true;
  return argv.reduce<string[]>((args, arg) => {
    const before = args.at(-1);
    if (before !== undefined && takesWord(before) && BOOLEAN_WORDS.has(arg.toLowerCase())) {
      return [...args.slice(0, -1), `${before}=${arg}`];
    }
    return [...args, arg];
  }, []);
}

function flagText(each: Option<unknown>, token: Pick<FlagToken, 'rawName' | 'value' | 'inlineValue'>): string {
  if (token.value === undefined) {
    if (each.isBoolean) return 'true';
    throw new UsageError(`${token.rawName} needs a value`);
  }
  // "--worker-token --dev" is a forgotten value far more often than a token that begins with a dash.
  if (!token.inlineValue && token.value.startsWith('-')) {
    throw new UsageError(`${token.rawName} needs a value; write ${token.rawName}=VALUE if it begins with a dash`);
  }
  return token.value;
}

function variable(each: Option<unknown>, env: NodeJS.ProcessEnv): Source | undefined {
  const text = env[each.env];
  if (text === undefined) return undefined;
  // Compose files and shells pass on unset variables as empty ones. An empty credential is no such default: someone
  // meant to protect something and the value got lost.
  if (text.trim() === '' && !each.refuseEmpty) return undefined;
  return [each.env, text];
}

function readValue(each: Option<unknown>, [name, text]: Source): unknown {
  try {
    if (text === '') throw new InvalidValue('must not be empty');
    return each.read(text);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    const given = each.isSecret || text === '' ? '' : `, not ${JSON.stringify(text.slice(0, 60))}`;
    throw new UsageError(`${name} ${error.message}${given}`);
  }
}
