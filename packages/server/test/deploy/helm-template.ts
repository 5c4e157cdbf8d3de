import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { evaluate, type Scope, type Value } from './helm-expressions.js';

/**
 * `helm template`, as far as our chart needs it: neither npm nor Debian has Helm. It knows if, else, with, range,
 * define, include, variables and a dozen functions, and refuses everything else, so that the chart cannot outgrow it
 * unnoticed.
 */

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: any };
  readonly [field: string]: any;
}

type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'print'; readonly code: string }
  | { readonly kind: 'assign'; readonly name: string; readonly code: string }
  | { readonly kind: 'block'; readonly word: string; readonly code: string; readonly body: Body; orElse: Body };
type Body = Node[];

/** The manifests that the chart in `directory` makes of `overrides`, which are merged into its values. */
export function renderChart(directory: string, overrides: object = {}): Manifest[] {
  return Object.values(renderFiles(directory, overrides)).flatMap((text) =>
    parseAllDocuments(text, { uniqueKeys: true })
      .map((document) => {
        if (document.errors.length > 0) throw new Error(`${document.errors[0]!.message}\n${text}`);
        return document.toJS() as Manifest | null;
      })
      .filter((manifest) => manifest !== null),
  );
}

/** The text of each file with manifests, by its name. */
export function renderFiles(directory: string, overrides: object): Record<string, string> {
  const read = (path: string): string => readFileSync(join(directory, path), 'utf8');
  const chart = parse(read('Chart.yaml')) as Record<string, string>;
  const defined = new Map<string, Body>();
  const names = readdirSync(join(directory, 'templates')).sort();
  const bodies = names.map((name) => [name, parseTemplate(read(join('templates', name)), defined)] as const);
  const dot: Value = {
    Values: merged(parse(read('values.yaml')) as Value, overrides as Value),
    Chart: { Name: chart.name!, Version: chart.version!, AppVersion: chart.appVersion! },
    Release: { Name: 'demo', Namespace: 'jobs', Service: 'Helm' },
  };
  const include = (name: string, argument: Value): string => {
    const body = defined.get(name);
    if (body === undefined) throw new Error(`no template "${name}"`);
    return render(body, { dot: argument, root: argument, variables: new Map(), include });
  };
  const scope = (): Scope => ({ dot, root: dot, variables: new Map(), include });
  return Object.fromEntries(
    bodies.filter(([name]) => name.endsWith('.yaml')).map(([name, body]) => [name, render(body, scope())]),
  );
}

const isMap = (value: unknown): value is Record<string, Value> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function merged(base: Value, over: Value): Value {
  if (!isMap(base) || !isMap(over)) return over;
  const entries = Object.entries(over).map(([key, value]) => [key, key in base ? merged(base[key], value) : value]);
  return { ...base, ...(Object.fromEntries(entries) as Record<string, Value>) };
}

const ACTION = /\{\{(- )?\s*(\/\*[^]*?\*\/|[^]*?)\s*( -|(?<=\*\/) ?-)?\}\}/g;

/** `{{-` takes the white space before it, `-}}` that behind it. */
function tokens(source: string): { text: string; code: string | null }[] {
  const found: { text: string; code: string | null }[] = [];
  let [at, trimNext] = [0, false];
  const push = (raw: string, trimEnd: boolean): void => {
    const left = trimNext ? raw.trimStart() : raw;
    found.push({ text: trimEnd ? left.trimEnd() : left, code: null });
  };
  for (const match of source.matchAll(ACTION)) {
    push(source.slice(at, match.index), match[1] !== undefined);
    if (!match[2]!.startsWith('/*')) found.push({ text: '', code: match[2]! });
    at = match.index + match[0].length;
    trimNext = match[3] !== undefined;
  }
  push(source.slice(at), false);
  return found;
}

function parseTemplate(source: string, defined: Map<string, Body>): Body {
  const top: Body = [];
  const open: { node: Extract<Node, { kind: 'block' }> | null; define: string | null; body: Body }[] = [];
  let body = top;
  for (const { text, code } of tokens(source)) {
    if (code === null) {
      if (text !== '') body.push({ kind: 'text', text });
      continue;
    }
    const [, word = '', rest = ''] = /^(\S+)\s*([^]*)$/.exec(code) ?? [];
    if (word === 'define') {
      open.push({ node: null, define: JSON.parse(rest) as string, body });
      body = [];
    } else if (word === 'if' || word === 'with' || word === 'range') {
      const node = { kind: 'block', word, code: rest, body: [] as Body, orElse: [] as Body } as const;
      body.push(node);
      open.push({ node, define: null, body });
      body = node.body;
    } else if (code === 'else') {
      body = open.at(-1)!.node!.orElse;
    } else if (code === 'end') {
      const { define, body: outer } = open.pop()!;
      if (define !== null) defined.set(define, body);
      body = outer;
    } else if (/^\$\w+$/.test(word) && rest.startsWith(':=')) {
      body.push({ kind: 'assign', name: word, code: rest.slice(2) });
    } else {
      body.push({ kind: 'print', code });
    }
  }
  if (open.length > 0) throw new Error('a block is not closed');
  return top;
}

function render(body: Body, outer: Scope): string {
  const scope = { ...outer, variables: new Map(outer.variables) };
  return body.map((node) => renderNode(node, scope)).join('');
}

function renderNode(node: Node, scope: Scope): string {
  switch (node.kind) {
    case 'text':
      return node.text;
    case 'print': {
      const value = evaluate(node.code, scope);
      if (value === null || value === undefined) throw new Error(`{{ ${node.code} }} is nothing`);
      if (typeof value === 'object') throw new Error(`{{ ${node.code} }} is not a text`);
      return String(value);
    }
    case 'assign':
      scope.variables.set(node.name, evaluate(node.code, scope));
      return '';
    case 'block':
      return renderBlock(node, scope);
  }
}

function renderBlock({ word, code, body, orElse }: Extract<Node, { kind: 'block' }>, scope: Scope): string {
  if (word === 'range') return renderRange(code, body, orElse, scope);
  const value = evaluate(code, scope);
  if (!isTrue(value)) return render(orElse, scope);
  return render(body, word === 'with' ? { ...scope, dot: value } : scope);
}

function renderRange(code: string, body: Body, orElse: Body, scope: Scope): string {
  const [, names, source] = /^(?:([$\w, ]+):=)?([^]*)$/.exec(code)!;
  const variables = (names ?? '').split(',').map((name) => name.trim());
  const list = evaluate(source!, scope) ?? [];
  // As in Go: the keys of a map in their order.
  const entries: [Value, Value][] = Array.isArray(list)
    ? list.map((value, index) => [index, value])
    : Object.entries(list as Record<string, Value>).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return render(orElse, scope);
  return entries
    .map(([key, value]) => {
      const inner = { ...scope, dot: value, variables: new Map(scope.variables) };
      if (variables.length === 2) inner.variables.set(variables[0]!, key).set(variables[1]!, value);
      else if (names !== undefined) inner.variables.set(variables[0]!, value);
      return render(body, inner);
    })
    .join('');
}

/** What Go's templates take for true. */
function isTrue(value: Value): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (isMap(value)) return Object.keys(value).length > 0;
  return Boolean(value);
}
