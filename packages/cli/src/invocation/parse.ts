import { parseArgs } from 'node:util';
import { CONNECTION, type Option, type Options, type Spec, type Values } from '../specs/spec.js';
import { didYouMean } from './suggest.js';
import { Misuse } from './exit.js';

export interface Parsed<O extends Options> {
  readonly options: Values<O>;
  readonly connection: Values<typeof CONNECTION>;
  readonly args: readonly string[];
}

/** Every option that a command takes, by its name. */
export const optionsOf = (spec: Spec): Options => ({ ...spec.options, ...(spec.client && CONNECTION) });

/**
 * Reads the words after a command by its definition. Messages name options, never values: what was typed for a
 * misspelt `--token` is a token.
 *
 * @throws Misuse
 */
export function parse<O extends Options>(spec: Spec<O>, words: readonly string[]): Parsed<O> {
  const known = optionsOf(spec);
  const { tokens } = parseArgs({
    args: [...words],
    options: Object.fromEntries(
      Object.entries(known).map(([name, { value, short }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string', multiple: true, ...(short !== undefined && { short }) },
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const given = new Map<string, string[]>();
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (option === undefined) throw unknownOption(spec, token.rawName, token.name);
    given.set(token.name, [...(given.get(token.name) ?? []), valueOf(token, option)]);
  }
  countArguments(spec, args);
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(known).map(([name, option]): [string, unknown] => {
      const texts = given.get(name);
      if (option.value === undefined) return [name, texts !== undefined];
      return [name, option.many ? (texts ?? []) : texts?.at(-1)];
    }),
  );
  return {
    options: values as Values<O>,
    connection: spec.client ? (values as Values<typeof CONNECTION>) : NO_CONNECTION,
    args,
  };
}

const NO_CONNECTION: Values<typeof CONNECTION> = { url: undefined, token: undefined, profile: undefined };

interface OptionToken {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function valueOf({ rawName, value, inlineValue }: OptionToken, option: Option): string {
  if (option.value === undefined) {
    if (value !== undefined) throw new Misuse(`${rawName} takes no value`);
    return '';
  }
  if (value === undefined) throw new Misuse(`${rawName} needs a value`);
  // `--queue --json` is a forgotten value; `-` is standard input, -3 a priority.
  if (inlineValue !== true && /^-[^\d]/.test(value)) {
    throw new Misuse(`${rawName} needs a value; one that begins with a dash is written ${rawName}=…`);
  }
  if (option.choices !== undefined) {
    for (const part of option.value.includes(',') ? value.split(',') : [value])
      checkChoice(rawName, part, option.choices);
  }
  return value;
}

export function checkChoice(what: string, word: string, choices: readonly string[]): void {
  if (choices.includes(word)) return;
  throw new Misuse(`${what} is one of ${choices.join(', ')}${didYouMean(word, choices)}`);
}

function unknownOption(spec: Spec, rawName: string, name: string): Misuse {
  const hint = rawName.startsWith('--') ? didYouMean(name, Object.keys(optionsOf(spec)), '--') : '';
  return new Misuse(`unknown option ${rawName}${hint || `; see millrace ${spec.name} --help`}`);
}

function countArguments({ name, arguments: expected = [] }: Spec, given: readonly string[]): void {
  const least = expected.filter(({ optional }) => !optional).length;
  const most = expected.some(({ many }) => many) ? Infinity : expected.length;
  const missing = expected[given.length];
  if (given.length < least && missing !== undefined) {
    throw new Misuse(`${name} needs ${missing.name}: ${missing.help}; see millrace ${name} --help`);
  }
  if (given.length > most) {
    const takes = most === 0 ? 'no arguments' : most === 1 ? 'one argument' : `${most} arguments`;
    throw new Misuse(`${name} takes ${takes}, not ${given.length}; quote what has spaces`);
  }
  expected.forEach(({ name: what, choices }, index) => {
    const word = given[index];
    if (choices !== undefined && word !== undefined) checkChoice(what, word, choices);
  });
}
