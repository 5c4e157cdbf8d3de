import DOMPurify from 'dompurify';
import fc from 'fast-check';
import parser from 'mermaid';
import { beforeAll, describe, expect, it } from 'vitest';
import { STEP_STATUSES, type StepStatus } from '@millrace/contract';
import { buildGraph } from '../../src/domain/dag.js';
import { mermaid } from '../../src/domain/mermaid.js';
import { cases } from '../support/cases.js';

/**
 * The parser is the real one. It passes labels to an HTML sanitiser that needs a browser; here that is the identity
 * function, and labels must contain no markup at all, which is more than a sanitiser asks.
 */
beforeAll(() => {
  Object.assign(DOMPurify, { sanitize: (text: string) => text, addHook: () => undefined });
});

interface Step {
  readonly name: string;
  readonly dependsOn?: readonly string[];
}

interface Parsed {
  readonly nodes: readonly { readonly label: string; readonly classes: readonly string[]; readonly text: string }[];
  /** By label. */
  readonly edges: readonly (readonly [string, string])[];
}

function draw(steps: readonly Step[], statuses: readonly StepStatus[] = steps.map(() => 'pending')): string {
  const built = buildGraph(
    steps.map(({ name, dependsOn = [] }) => ({ name, dependsOn, onFailure: 'halt', otherwise: null })),
  );
  if ('problem' in built) throw new Error(built.problem.message);
  const drawn = statuses.map((status) => ({ status, skippedBy: null, retries: false, waits: false }));
  return mermaid(built.graph, drawn);
}

async function parse(diagram: string): Promise<Parsed> {
  expect(await parser.parse(diagram)).toMatchObject({ diagramType: 'flowchart-v2' });
  const { db } = (await parser.mermaidAPI.getDiagramFromText(diagram)) as unknown as { db: any };
  const vertices = [...db.getVertices().values()] as { id: string; text: string; classes: string[] }[];
  const labels = new Map(vertices.map(({ id, text }) => [id, decode(text)]));
  return {
    nodes: vertices.map(({ text, classes }) => ({ label: decode(text), classes, text })),
    edges: db.getEdges().map((edge: any) => [labels.get(edge.start), labels.get(edge.end)] as const),
  };
}

/** The parser writes entities with letters that have no meaning in its syntax; this is what they become on the page. */
const decode = (text: string): string =>
  text.replaceAll(/ﬂ°°(\d+)¶ß/g, (_, code: string) => String.fromCodePoint(Number(code)));

const NAMES = [
  ...[
    'end',
    'End',
    'END',
    'graph',
    'subgraph',
    'flowchart',
    'flowchart-elk',
    'style',
    'linkStyle',
    'classDef',
    'class',
  ],
  ...[
    'click',
    'href',
    'call',
    'callback',
    'interpolate',
    'default',
    'direction',
    'TD',
    'LR',
    'v',
    'x',
    'o',
    'accTitle',
  ],
  ...['end-of-day', 'class-a', 'a-end', 'graph_of', '_self', '_blank', 'pending', 'completed', 's0', 's1', 's17', 'S0'],
  ...[
    'constructor',
    '__proto__',
    'toString',
    'null',
    '0',
    '1st',
    'a',
    'fetch-data',
    'fetch_data',
    'v1.2',
    'a--b',
    'a->b',
  ],
  ...['"', '""', "'", '`code`', '"`*md*`"', '[', ']', '](', '{}', '(( ))', '<b>bold</b>', '<script>alert(1)</script>'],
  ...[
    '&amp;',
    '&',
    '#quot;',
    '#35;',
    '#',
    ';',
    ';;',
    ':::failed',
    ':',
    '|',
    '|text|',
    '\\',
    '\\n',
    '/',
    '@',
    '@{ shape: x }',
  ],
  ...['--> x', 'a --> b', '---', '-.->', '==>', '~~~', '%%', '%% comment', '%%{init: {}}%%', '---\ntitle: x\n---'],
  ...[
    'new\nline',
    'carriage\r\nreturn',
    'tab\there',
    ' leading',
    'trailing ',
    '  two  blanks  ',
    '    code',
    '\u00a0',
    '\u2028',
  ],
  ...[
    '1. list',
    '- item',
    '+ item',
    '* item',
    '> quote',
    '# title',
    '**bold**',
    '_it_',
    '__b__',
    '~~s~~',
    '![i](u)',
    'http://x.y',
  ],
  ...[
    'fa:fa-car',
    '$$x^2$$',
    'שלום עולם',
    'مرحبا',
    '\u202eright to left',
    '日本語',
    'हिन्दी',
    'e\u0301',
    '🙂',
    '👩‍👩‍👧',
    '𝔘',
  ],
  ...[
    '\u0001',
    '\u007f',
    'ﬂ°°',
    '¶ß',
    'style: #a;',
    'classDef x:#b;',
    'x'.repeat(255),
    '"'.repeat(255),
    '🙂'.repeat(255),
  ],
];

describe('a diagram', () => {
  it('has one node per step, one arrow per dependency and the colours of the statuses', () => {
    const steps = [
      { name: 'fetch' },
      { name: 'parse it', dependsOn: ['fetch'] },
      { name: 'store', dependsOn: ['fetch', 'parse it'] },
    ];
    expect(draw(steps, ['completed', 'running', 'pending'])).toBe(
      [
        'graph TD',
        '  fetch["fetch"]:::completed',
        '  s1["parse it"]:::running',
        '  store["store"]:::pending',
        '  fetch --> s1',
        '  fetch --> store',
        '  s1 --> store',
        '  classDef completed fill:#bbf7d0,stroke:#16a34a,color:#111827',
        '  classDef pending fill:#e5e7eb,stroke:#6b7280,color:#111827',
        '  classDef running fill:#bfdbfe,stroke:#2563eb,color:#111827',
      ].join('\n'),
    );
  });

  it.each(NAMES)('is valid with a step called %j', async (name) => {
    const before = `${name === 'x'.repeat(255) ? 'y' : ''}before`;
    const steps = [{ name: before }, { name, dependsOn: [before] }, { name: 'after it', dependsOn: [name] }];
    const { nodes, edges } = await parse(draw(steps, ['completed', 'failed', 'skipped']));
    expect(nodes.map((node) => [node.label, node.classes])).toEqual([
      [before, ['completed']],
      [name, ['failed']],
      ['after it', ['skipped']],
    ]);
    expect(edges).toEqual([
      [before, name],
      [name, 'after it'],
    ]);
  });

  it('is valid with all of them at once, and confuses none with another', async () => {
    const names = [...new Set(NAMES)];
    const steps = names.map((name, n) => ({ name, dependsOn: n === 0 ? [] : [names[n - 1]!] }));
    const { nodes, edges } = await parse(draw(steps));
    expect(nodes.map((node) => node.label)).toEqual(names);
    expect(edges).toHaveLength(names.length - 1);
  });

  it('is valid with any name', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1 }),
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.string({ unit: fc.constantFrom(...'abend-_ .,"`#;:[](){}<>|&*~%\n0'), minLength: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 1, maxLength: 6 }), async (names) => {
        const steps = names.map((stepName, n) => ({ name: stepName, dependsOn: names.slice(0, n) }));
        const { nodes, edges } = await parse(draw(steps));
        expect(nodes.map((node) => node.label)).toEqual(names);
        expect(edges).toHaveLength((names.length * (names.length - 1)) / 2);
        for (const { text } of nodes) expect(text).not.toMatch(/[<>&"`*]/);
      }),
      { numRuns: cases(100) },
    );
  });

  it('shows each status in its own colour', async () => {
    const steps = STEP_STATUSES.map((status) => ({ name: `is ${status}` }));
    const diagram = draw(steps, STEP_STATUSES);
    expect((await parse(diagram)).nodes.map((node) => node.classes)).toEqual(STEP_STATUSES.map((status) => [status]));
    expect(new Set(diagram.match(/fill:#\w+,stroke:#\w+/g)).size).toBe(STEP_STATUSES.length);
  });
});
