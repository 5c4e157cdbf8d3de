import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { OPTIONS, type Option } from '../../src/config/options.js';

/** The parts of documents that are generated from the code. `npm run docs` writes them; the tests compare. */
const ROOT = new URL('../../../../', import.meta.url);

export const repositoryFile = (path: string): string => fileURLToPath(new URL(path, ROOT));

export const readRepositoryFile = (path: string): string => readFileSync(repositoryFile(path), 'utf8');

/** The text of a document with every generated part regenerated. */
export function refreshed(text: string): string {
  return text
    .replace(
      /(<!-- options -->\n)[^]*?(<!-- \/options -->)/g,
      (_, open: string, close: string) => open + optionsTable() + close,
    )
    .replace(
      /(<!-- file: (\S+) -->\n```\w*\n)[^]*?(^```$)/gm,
      (_, open: string, path: string, close: string) => open + readRepositoryFile(path) + close,
    );
}

function optionsTable(): string {
  const rows = Object.values<Option<unknown>>(OPTIONS).map((option) => [
    `\`--${option.flag}${option.value && ` ${option.value}`}\``,
    `\`${option.env}\``,
    option.isSecret ? `${fallbackOf(option)}; secret` : fallbackOf(option),
    option.help,
  ]);
  return [['flag', 'variable', 'default', 'meaning'], ['---', '---', '---', '---'], ...rows]
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |\n`)
    .join('');
}

function fallbackOf({ fallback, fallbackText }: Option<unknown>): string {
  if (fallbackText !== undefined) return fallbackText;
  if (fallback === null) return 'none';
  return `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``;
}
