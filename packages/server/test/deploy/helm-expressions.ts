import { stringify } from 'yaml';

/** The expressions of Go's templates, as far as our chart uses them: fields, variables, literals, calls, pipes. */

export type Value = string | number | boolean | null | undefined | readonly Value[] | { readonly [key: string]: Value };

export interface Scope {
  readonly dot: Value;
  readonly root: Value;
  readonly variables: Map<string, Value>;
  include(name: string, argument: Value): string;
}

type Call = (args: Value[], scope: Scope) => Value;

const text = (value: Value): string => {
  if (typeof value === 'object' || value === undefined) throw new Error(`${JSON.stringify(value)} is not a text`);
  return String(value);
};
const isEmpty = (value: Value): boolean =>
  value === undefined || value === null || value === '' || value === 0 || value === false;

const FUNCTIONS: Readonly<Record<string, Call>> = {
  include: ([name, argument], scope) => scope.include(text(name), argument),
  toYaml: ([value]) => stringify(value, { lineWidth: 0 }).trimEnd(),
  nindent: ([width, value]) => `\n${text(value)}`.replaceAll('\n', `\n${' '.repeat(Number(width))}`),
  quote: ([value]) => JSON.stringify(text(value)),
  default: ([fallback, value]) => (isEmpty(value) ? fallback : value),
  printf: ([format, ...values]) => text(format).replaceAll('%s', () => text(values.shift())),
  trunc: ([length, value]) => text(value).slice(0, Number(length)),
  trimSuffix: ([suffix, value]) => (text(value).endsWith(text(suffix)) ? text(value).slice(0, -1) : value),
  replace: ([from, to, value]) => text(value).replaceAll(text(from), text(to)),
  upper: ([value]) => text(value).toUpperCase(),
  list: (values) => values,
  index: ([value, key]) => field(value, text(key), 'index'),
  not: ([value]) => isEmpty(value),
};

/** The value of one action: `first | second argument | third`. */
export function evaluate(code: string, scope: Scope): Value {
  const words = code.match(/"(?:[^"\\]|\\.)*"|[|]|[^\s|]+/g) ?? [];
  const stages: string[][] = [[]];
  for (const word of words) {
    if (word === '|') stages.push([]);
    else stages.at(-1)!.push(word);
  }
  return stages.reduce<Value>((piped, stage, place) => runStage(stage, place > 0 ? [piped] : [], scope), undefined);
}

function runStage([head = '', ...rest]: string[], piped: Value[], scope: Scope): Value {
  const call = FUNCTIONS[head];
  if (call !== undefined) return call([...rest.map((word) => operand(word, scope)), ...piped], scope);
  if (rest.length > 0 || piped.length > 0) throw new Error(`the renderer of the tests knows no function "${head}"`);
  return operand(head, scope);
}

function operand(word: string, scope: Scope): Value {
  if (word.startsWith('"')) return JSON.parse(word) as string;
  if (/^-?\d+$/.test(word)) return Number(word);
  if (word === 'true' || word === 'false') return word === 'true';
  if (word === '.') return scope.dot;
  const [, base = '', path = ''] = /^(\$\w*)?((?:\.\w+)*)$/.exec(word) ?? [];
  if (base === '' && path === '') throw new Error(`the renderer of the tests cannot read "${word}"`);
  return path
    .split('.')
    .slice(1)
    .reduce<Value>((value, name) => field(value, name, word), startOf(base, scope));
}

function startOf(base: string, { dot, root, variables }: Scope): Value {
  if (base === '') return dot;
  if (base === '$') return root;
  if (!variables.has(base)) throw new Error(`no variable ${base}`);
  return variables.get(base);
}

/** A field that a map lacks is nothing; a field of nothing is a mistake. */
function field(value: Value, name: string, word: string): Value {
  if (typeof value !== 'object' || value === null) throw new Error(`${word}: nothing has no field ${name}`);
  return (value as Record<string, Value>)[name];
}
