/**
 * What is written in `sql/queries`: whole statements, each under a line `-- name: the_name`, whose parameters have
 * names (`:queue`, `:max_bytes`). What several statements have in common stands once, under a line
 * `-- fragment: the_name`, and a line `-- include: the_name` puts it in place: in their file, or in one that is given
 * beside it. PostgreSQL knows parameters by number
 * only: they are numbered in the order in which they are first used (docs/adr/0030-named-parameters.md).
 */
export interface StatementText {
  readonly name: string;
  /** As it is sent. */
  readonly text: string;
  /** The names of its parameters: the first is $1. */
  readonly parameters: readonly string[];
}

interface Section {
  readonly kind: string;
  readonly name: string;
  readonly lines: readonly string[];
}

export function readStatements(source: string, shared = ''): StatementText[] {
  const sections = sectionsOf(source);
  const fragments = new Map(
    [...sectionsOf(shared), ...sections]
      .filter(({ kind }) => kind === 'fragment')
      .map(({ name, lines }) => [name, lines]),
  );
  return sections
    .filter(({ kind }) => kind === 'name')
    .map(({ name, lines }) => ({ name, ...numberParameters(textOf(lines, fragments)) }));
}

function sectionsOf(source: string): Section[] {
  const [, ...parts] = source.split(/^-- (name|fragment): +(\S+)$/m);
  const sections: Section[] = [];
  for (let at = 0; at < parts.length; at += 3) {
    const [kind = '', name = '', body = ''] = parts.slice(at, at + 3);
    if (sections.some((other) => other.kind === kind && other.name === name)) throw new Error(`${name} is there twice`);
    sections.push({ kind, name, lines: body.split('\n') });
  }
  return sections;
}

/** A fragment may include others. */
function whole(lines: readonly string[], fragments: ReadonlyMap<string, readonly string[]>): string[] {
  return lines.flatMap((line) => {
    const included = /^-- include: +(\S+)$/.exec(line)?.[1];
    if (included === undefined) return [line];
    const fragment = fragments.get(included);
    if (!fragment) throw new Error(`there is no fragment named ${included}`);
    return whole(fragment, fragments);
  });
}

/** Drops comment lines, which we would otherwise send to PostgreSQL with every unprepared statement. */
function textOf(lines: readonly string[], fragments: ReadonlyMap<string, readonly string[]>): string {
  return whole(lines, fragments)
    .filter((line) => line !== '' && !line.startsWith('--'))
    .join('\n')
    .trim()
    .replace(/;$/, '');
}

/**
 * Strings, quoted names and comments are passed over, and so are casts (`::int`). A colon after a value is that of an
 * array slice (`ids[1:n]`).
 */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|--.*|\/\*[^]*?\*\/|::|(?<![\w)\]]):([a-z_]\w*)/g;

function numberParameters(named: string): Pick<StatementText, 'text' | 'parameters'> {
  const parameters: string[] = [];
  const text = named.replace(TOKEN, (token: string, name: string | undefined) => {
    if (name === undefined) return token;
    const known = parameters.indexOf(name) + 1;
    return `$${known > 0 ? known : parameters.push(name)}`;
  });
  return { text, parameters };
}
