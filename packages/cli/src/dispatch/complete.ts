import { readProfiles } from '../connection/profiles.js';
import { firstWords, membersOf } from './lookup.js';
import { optionsOf } from '../invocation/parse.js';
import { COMMANDS } from './registry.js';
import type { Spec } from '../specs/spec.js';

/** What the word that is being typed, the last one, may become. Nothing: let the shell offer files. */
export function completions(words: readonly string[], env: NodeJS.ProcessEnv): string[] {
  const typed = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const [, option, value] = /^(--[^=]+)=(.*)$/.exec(typed) ?? [];
  if (option !== undefined)
    return completions([...before, option, value ?? ''], env).map((found) => `${option}=${found}`);
  // Bash makes a word of the sign in `--status=failed`, and completes what follows it.
  if (typed === '=') return completions([...before, ''], env);
  const told = before.filter((word) => word !== '=');
  return candidates(told, typed, env).filter((word) => word.startsWith(typed));
}

function candidates(before: readonly string[], typed: string, env: NodeJS.ProcessEnv): string[] {
  const [first = '', second] = before;
  if (before.length === 0) return typed.startsWith('-') ? ['--help', '--version'] : firstWords(COMMANDS);
  const members = membersOf(COMMANDS, first);
  const named = members.includes(second ?? '') ? `${first} ${second ?? ''}` : first;
  const spec = COMMANDS.find((command) => command.spec.name === named)?.spec;
  if (before.length === 1 && members.length > 0 && !typed.startsWith('-')) return members;
  if (spec === undefined) return typed.startsWith('-') ? ['--help'] : [];
  return forSpec(spec, before.slice(named.split(' ').length), typed, env);
}

function forSpec(spec: Spec, words: readonly string[], typed: string, env: NodeJS.ProcessEnv): string[] {
  const options = optionsOf(spec);
  const previous = words.at(-1) ?? '';
  const awaited = previous.startsWith('--') ? options[previous.slice(2)] : undefined;
  if (awaited?.value !== undefined) return previous === '--profile' ? profileNames(env) : [...(awaited.choices ?? [])];
  if (typed.startsWith('-')) return [...Object.keys(options).map((name) => `--${name}`), '--help'];
  if (spec.name === 'config use') return profileNames(env);
  const position = words.filter((word) => !word.startsWith('-')).length;
  return [...(spec.arguments?.[position]?.choices ?? [])];
}

function profileNames(env: NodeJS.ProcessEnv): string[] {
  try {
    return Object.keys(readProfiles(env).profiles);
  } catch {
    return [];
  }
}
