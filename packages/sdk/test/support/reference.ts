import { fileURLToPath } from 'node:url';
import { format } from 'prettier';
import ts from 'typescript';

/** docs/sdk-reference.md, written from the declarations and doc comments of everything that the SDK exports. */
const SOURCES = fileURLToPath(new URL('../../src/', import.meta.url));

const ENTRIES = [
  ['@millrace/sdk', 'index.ts'],
  ['@millrace/sdk/worker', 'worker/index.ts'],
  ['@millrace/sdk/testing', 'testing/index.ts'],
  ['@millrace/sdk/otel', 'otel/index.ts'],
  ['@millrace/sdk/references', 'workflow/references.ts'],
] as const;

interface Entry {
  readonly name: string;
  /** Null if it has none. */
  readonly comment: string | null;
  readonly examples: readonly string[];
  readonly declaration: string;
  readonly isValue: boolean;
}

export interface Reference {
  readonly text: string;
  /** Exports without a doc comment. */
  readonly undocumented: readonly string[];
}

export async function sdkReference(): Promise<Reference> {
  const program = ts.createProgram(
    ENTRIES.map(([, file]) => SOURCES + file),
    {
      ...{ target: ts.ScriptTarget.ES2022, lib: ['lib.es2023.d.ts'], module: ts.ModuleKind.NodeNext, strict: true },
      ...{ moduleResolution: ts.ModuleResolutionKind.NodeNext, types: ['node'], declaration: true },
      // The build has checked the types; here they are only written down.
      ...{ emitDeclarationOnly: true, skipLibCheck: true, noCheck: true },
    },
  );
  const declared = declarationsOf(program);
  const sections = ENTRIES.map(([name, file]) => ({ name, entries: entriesOf(program, declared, SOURCES + file) }));
  const undocumented = sections.flatMap(({ name, entries }) =>
    entries.filter(({ comment }) => comment === null).map((entry) => `${name}: ${entry.name}`),
  );
  // The declarations as we would write them.
  const text = await format(pageOf(sections), { parser: 'markdown', printWidth: 120, singleQuote: true });
  return { text, undocumented };
}

/** What the compiler declares of each source file: signatures without code. */
function declarationsOf(program: ts.Program): ReadonlyMap<string, ts.SourceFile> {
  const files = new Map<string, ts.SourceFile>();
  program.emit(
    undefined,
    (path, text) => {
      const source = path.replace(/\.d\.ts$/, '.ts');
      files.set(source, ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true));
    },
    undefined,
    true,
  );
  return files;
}

function entriesOf(program: ts.Program, declared: ReadonlyMap<string, ts.SourceFile>, path: string): Entry[] {
  const checker = program.getTypeChecker();
  const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!;
  const entries = checker.getExportsOfModule(module).map((exported): Entry => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
    const tags = symbol.getJsDocTags(checker);
    const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker)).trim();
    const source = symbol.declarations?.[0]?.getSourceFile();
    if (symbol.flags & ts.SymbolFlags.Module) return namespaceOf(exported.name, source!);
    const file = source?.fileName ?? '';
    return {
      name: exported.name,
      comment: comment === '' ? null : comment,
      examples: tags.filter(({ name }) => name === 'example').map(({ text }) => ts.displayPartsToString(text).trim()),
      declaration: declarationText(declared.get(file)!, symbol.name),
      isValue: (symbol.flags & ts.SymbolFlags.Value) !== 0,
    };
  });
  // What is called comes before the types that describe it.
  return entries.sort((a, b) => Number(b.isValue) - Number(a.isValue) || (a.name < b.name ? -1 : 1));
}

/** A whole file under one name; what it says of itself stands at its beginning. */
function namespaceOf(name: string, source: ts.SourceFile): Entry {
  const [, comment = ''] = /^\/\*\*([^]*?)\*\//.exec(source.text) ?? [];
  const text = comment.replace(/^ *\* ?/gm, '').trim();
  const file = source.fileName.slice(SOURCES.length);
  const declaration = `export type * as ${name} from './${file.replace(/ts$/, 'js')}';`;
  return { name, comment: text === '' ? null : text, examples: [], declaration, isValue: false };
}

/** The text of a declaration, without the comment before it, which is shown as prose. */
function declarationText(file: ts.SourceFile, name: string): string {
  const isNamed = (statement: ts.Statement): boolean =>
    ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.some((each) => each.name.getText() === name)
      : (statement as { name?: ts.Node }).name?.getText() === name;
  return file.statements
    .filter(isNamed)
    .map((statement) => statement.getText().replace(/^export (declare )?/, ''))
    .join('\n')
    .replace(/^ +#private;\n/gm, '')
    .replace(/^ +private .*\n/gm, '')
    .replaceAll('    ', '  ');
}

function pageOf(sections: readonly { name: string; entries: readonly Entry[] }[]): string {
  const head = [
    '# Reference of the TypeScript SDK',
    '',
    'Everything that `@millrace/sdk` exports. Written by `npm run docs` from the doc comments of `packages/sdk/src`; how the',
    'parts are used together is in [The TypeScript SDK](sdk.md).',
  ];
  const index = sections.flatMap(({ name, entries }) => [
    '',
    `**\`${name}\`**:`,
    '',
    entries.map((entry) => `\`${entry.name}\``).join(',\n'),
  ]);
  const bodies = sections.flatMap(({ name, entries }) => ['', `## ${name}`, ...entries.flatMap(entryText)]);
  return [...head, ...index, ...bodies, ''].join('\n');
}

const entryText = ({ name, comment, examples, declaration }: Entry): string[] => [
  '',
  `### ${name}`,
  '',
  ...(comment === null ? [] : [comment, '']),
  ...examples.flatMap((example) => ['```ts', example, '```', '']),
  '```ts',
  declaration,
  '```',
];
