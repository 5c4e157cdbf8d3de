import { readFileSync } from 'node:fs';

/**
 * Statements are kept whole in `sql/queries/*.sql`, each under a line `-- name: the_name`. The caller lists the
 * statements it expects, so a missing one fails at startup and a misspelt one is a compile error.
 */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

const QUERIES = new URL('../../sql/queries/', import.meta.url);

export function loadStatements<Name extends string>(file: string, names: readonly Name[]): Record<Name, Statement> {
  const found = parseStatements(readFileSync(new URL(file, QUERIES), 'utf8'));
  const statements = {} as Record<Name, Statement>;
  for (const name of names) {
    const text = found.get(name);
    if (text === undefined) throw new Error(`${file} has no statement named ${name}`);
    statements[name] = { name, text };
  }
  return statements;
}

/** Drops comment lines, which we would otherwise send to PostgreSQL with every unprepared statement. */
function parseStatements(source: string): Map<string, string> {
  const statements = new Map<string, string>();
  for (const part of source.split(/^-- name: /m).slice(1)) {
    const [name = '', ...lines] = part.split('\n');
    const text = lines
      .filter((line) => !line.startsWith('--'))
      .join('\n')
      .trim();
    statements.set(name.trim(), text.replace(/;$/, ''));
  }
  return statements;
}
