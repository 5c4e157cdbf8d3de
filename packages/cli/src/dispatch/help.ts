import { lookUp, membersOf } from './lookup.js';
import { EXIT_MEANINGS } from '../invocation/exit.js';
import { optionsOf } from '../invocation/parse.js';
import { COMMANDS } from './registry.js';
import { CONNECTION, type Option, type Options, type Spec } from '../specs/spec.js';
import { VERSION } from '../version.js';

const two = (rows: readonly (readonly [string, string])[]): string => {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`).join('\n');
};

/** `millrace` alone: what somebody who has just installed it needs. */
export const firstSteps = (): string =>
  [
    `millrace ${VERSION}: durable job queue and workflow service on PostgreSQL`,
    two([
      ['millrace dev', 'starts a server on this machine, with a database of its own'],
      [`millrace run echo '{"hello":"world"}' --wait`, 'creates a job and waits for its result'],
      ['millrace open', 'opens the dashboard'],
    ]),
    'millrace --help shows all commands; millrace serve runs a server in production.',
  ].join('\n\n');

/** `millrace --help` */
export function overview(): string {
  return [
    `millrace ${VERSION}: durable job queue and workflow service on PostgreSQL`,
    'Usage: millrace COMMAND [options]',
    `Commands:\n${two(COMMANDS.map(({ spec }) => [spec.name, spec.summary]))}`,
    'millrace COMMAND --help shows its options and examples; millrace --version prints the version.',
    'Where the server is: --url and --token, then --profile, then MILLRACE_URL and MILLRACE_TOKEN, then the current\n' +
      'profile (millrace config show), then a server in development mode on this machine.',
    `Exit codes:\n${two(EXIT_MEANINGS.map(([code, meaning]) => [String(code), meaning]))}`,
  ].join('\n\n');
}

/** `millrace jobs --help` */
export function groupHelp(group: string): string {
  const members = COMMANDS.filter(({ spec }) => spec.name === group || spec.name.startsWith(`${group} `));
  return [
    `Usage: millrace ${group} COMMAND [options]`,
    `Commands:\n${two(members.map(({ spec }) => [spec.name, spec.summary]))}`,
    `millrace ${group} ${membersOf(COMMANDS, group)[0] ?? 'COMMAND'} --help shows the options and examples of one.`,
  ].join('\n\n');
}

export const usageOf = (spec: Spec): string =>
  [
    'millrace',
    spec.name,
    ...(spec.arguments ?? []).map(({ name, optional }) => (optional ? `[${name}]` : name)),
    spec.server ? '[flags]' : '[options]',
  ].join(' ');

export const flagOf = (name: string, { value, short }: Option): string =>
  `${short === undefined ? '' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;

const optionRows = (options: Options): [string, string][] =>
  Object.entries(options).map(([name, option]) => [flagOf(name, option), option.help]);

/** Help of one command. The flags of the server are described by the server. */
export async function commandHelp(spec: Spec): Promise<string> {
  const own = Object.fromEntries(
    Object.entries(optionsOf(spec)).filter(([name]) => !(name in CONNECTION && spec.client)),
  );
  const parts = [`Usage: ${usageOf(spec)}`, `millrace ${spec.name}: ${spec.summary}.`];
  if (spec.description !== undefined) parts.push(spec.description);
  if (spec.arguments !== undefined) {
    parts.push(`Arguments:\n${two(spec.arguments.map(({ name, help }) => [name, help]))}`);
  }
  if (Object.keys(own).length > 0) parts.push(`Options:\n${two(optionRows(own))}`);
  if (spec.client) parts.push(`Where the server is:\n${two(optionRows(CONNECTION))}`);
  if (spec.server && spec.name !== 'openapi') {
    const { describeOptions } = await import('@millrace/server');
    parts.push(
      'Each flag has an environment variable; the flag wins. A boolean flag needs no value, or takes =true or =false.',
      `Flags:\n${describeOptions()}`,
    );
  }
  parts.push(`Examples:\n${spec.examples.map(({ command, does }) => `  ${command}\n      ${does}`).join('\n')}`);
  return parts.join('\n\n');
}

/** Help for the words before `--help`. */
export async function helpFor(words: readonly string[]): Promise<string> {
  if (words.length === 0) return overview();
  const found = lookUp(COMMANDS, words);
  return found === null ? groupHelp(words[0] ?? '') : commandHelp(found.command.spec);
}
