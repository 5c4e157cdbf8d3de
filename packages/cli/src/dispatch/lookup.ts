import type { Spec } from '../specs/spec.js';
import { didYouMean } from '../invocation/suggest.js';
import { Misuse } from '../invocation/exit.js';

interface Named {
  readonly spec: Pick<Spec, 'name'>;
}

export interface Found<C> {
  readonly command: C;
  /** What follows the name of the command. */
  readonly rest: readonly string[];
}

/** Commands that list without being called so: `queues list` is `queues`. */
const LISTS: ReadonlySet<string> = new Set(['queues', 'workers']);
/** What people look for under another name. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['logs', 'millrace jobs logs ID shows what the handlers of a job wrote, millrace tail follows jobs as they end'],
  ['ps', 'millrace jobs list shows jobs, millrace workers who runs them'],
  ['status', 'millrace queues shows what waits and runs, millrace doctor examines the database'],
  ['start', 'millrace dev starts a server on this machine, millrace serve one in production'],
  ['enqueue', 'millrace run TASK creates a job and waits for it, millrace jobs create creates one'],
]);

/** The command that the first words name: two words before one. Null if they name a group, such as `jobs`. */
export function lookUp<C extends Named>(commands: readonly C[], words: readonly string[]): Found<C> | null {
  for (const length of [2, 1]) {
    const name = words.slice(0, length).join(' ');
    const command = words.length < length ? undefined : commands.find(({ spec }) => spec.name === name);
    if (command !== undefined) return checkNext(commands, { command, rest: words.slice(length) });
  }
  const [first = '', second] = words;
  const members = membersOf(commands, first);
  if (members.length === 0) {
    const hint = HINTS.get(first);
    const guess = hint === undefined ? didYouMean(first, firstWords(commands)) : `; ${hint}`;
    throw new Misuse(`unknown command${guess || '; see --help'}`);
  }
  if (second === undefined || second.startsWith('-')) return null;
  throw new Misuse(`unknown command${didYouMean(second, members, `${first} `) || `; see millrace ${first} --help`}`);
}

/** `queues gte`: a command that takes no arguments, and a group that has a similar word. */
function checkNext<C extends Named>(commands: readonly C[], found: Found<C>): Found<C> {
  const { name } = found.command.spec;
  const members = membersOf(commands, name);
  const [next] = found.rest;
  if (next === 'list' && LISTS.has(name)) return { ...found, rest: found.rest.slice(1) };
  if (members.length === 0 || next === undefined || next.startsWith('-')) return found;
  throw new Misuse(`unknown command${didYouMean(next, members, `${name} `) || `; see millrace ${name} --help`}`);
}

/** The second words of a group. */
export const membersOf = (commands: readonly Named[], group: string): string[] =>
  commands.flatMap(({ spec }) => {
    const [first, second] = spec.name.split(' ');
    return first === group && second !== undefined ? [second] : [];
  });

export const firstWords = (commands: readonly Named[]): string[] => [
  ...new Set(commands.map(({ spec }) => spec.name.split(' ')[0] ?? '')),
];
