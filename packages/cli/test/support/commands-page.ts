import { EXIT_MEANINGS } from '../../src/invocation/exit.js';
import { flagOf, usageOf } from '../../src/dispatch/help.js';
import { COMMANDS } from '../../src/dispatch/registry.js';
import { CONNECTION, type Option, type Spec } from '../../src/specs/spec.js';

/** The parts of docs/cli.md that are made from the table of commands. */
export function refreshed(text: string): string {
  return replace(replace(text, 'exit codes', exitCodes()), 'commands', commands());
}

const replace = (text: string, name: string, part: string): string =>
  text.replace(
    new RegExp(`(<!-- ${name} -->\n)[^]*?(<!-- /${name} -->)`),
    (_, open: string, close: string) => `${open}${part}\n${close}`,
  );

const escaped = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
const row = (...cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`;

/** As prose stands in the documents: at most 120 columns. */
const wrapped = (text: string): string => text.replaceAll(/(.{1,120})(?: |$)/g, '$1\n').trimEnd();

const exitCodes = (): string =>
  [row('code', 'meaning'), '|---|---|', ...EXIT_MEANINGS.map(([code, meaning]) => row(String(code), meaning))].join(
    '\n',
  );

/** One section per first word, in the order of the help. */
function commands(): string {
  const groups = new Map<string, Spec[]>();
  for (const { spec } of COMMANDS) {
    const group = spec.server ? 'the server' : (spec.name.split(' ')[0] ?? '');
    groups.set(group, [...(groups.get(group) ?? []), spec]);
  }
  return [...groups].map(([group, specs]) => [`### ${group}`, ...specs.map(command)].join('\n\n')).join('\n\n');
}

function command(spec: Spec): string {
  const about = `${spec.summary}.${spec.description ? ` ${spec.description}` : ''}`;
  const parts = [wrapped(`**\`${usageOf(spec)}\`**: ${about}`)];
  const rows = [
    ...(spec.arguments ?? []).map(({ name, help }) => row(`\`${name}\``, help)),
    ...Object.entries<Option>(spec.options)
      .filter(([name]) => !(name in CONNECTION && spec.client))
      .map(([name, option]) => row(`\`${flagOf(name, option)}\``, option.help)),
  ];
  if (rows.length > 0) parts.push(['| | |', '|---|---|', ...rows].join('\n'));
  const examples = spec.examples.map(({ command: line, does }) => `${line}\n    ${does}`);
  parts.push(['```text', ...examples, '```'].join('\n'));
  return parts.join('\n\n');
}
