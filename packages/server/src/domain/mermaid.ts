import type { SkipReason, StepStatus } from '@millrace/contract';
import type { Graph, GraphStep } from './dag.js';

/**
 * A workflow as a Mermaid diagram. A step whose name is a plain word becomes a node of that name, so that the text is
 * readable as it is; any other is called s0, s1, … by its position. The label of a node is the step's name in quotes,
 * with everything that means something to Mermaid, to its Markdown or to HTML written as an entity: no name can be
 * taken for syntax.
 *
 * Nodes and arrows are bounded in number (1000 steps, WORKFLOW_MAX_DEPENDENCIES), and here in length: a diagram stays
 * below a megabyte whatever the names are. Arrows that would take more than their share name all nodes by position, and
 * a label that would take more than its share is cut.
 */
const MAX_ARROW_CHARACTERS = 400_000;
const MAX_LABEL_BYTES = 500_000;

/** By the status of its step; one between two attempts is told apart, and one that a condition has skipped. */
type Colour = StepStatus | 'retrying' | 'unmet';

const COLOURS: Record<Colour, string> = {
  pending: 'fill:#e5e7eb,stroke:#6b7280,color:#111827',
  running: 'fill:#bfdbfe,stroke:#2563eb,color:#111827',
  retrying: 'fill:#ffedd5,stroke:#ea580c,color:#111827',
  completed: 'fill:#bbf7d0,stroke:#16a34a,color:#111827',
  failed: 'fill:#fecaca,stroke:#dc2626,color:#111827',
  cancelled: 'fill:#fde68a,stroke:#d97706,color:#111827',
  skipped: 'fill:#f3f4f6,stroke:#9ca3af,color:#6b7280,stroke-dasharray:4',
  unmet: 'fill:#ffffff,stroke:#9ca3af,color:#6b7280,stroke-dasharray:2',
};

export interface DrawnStep {
  readonly status: StepStatus;
  readonly skippedBy: SkipReason | null;
  /** Its job waits for its next attempt. */
  readonly retries: boolean;
  /** It waits for a signal. */
  readonly waits: boolean;
}

/** Of a step that runs a task, of one with a condition, and of one that waits for a signal. */
const SHAPES = { task: ['[', ']'], condition: ['{{', '}}'], wait: ['([', '])'] } as const;

export function mermaid(graph: Graph, steps: readonly DrawnStep[]): string {
  const { ids, arrows } = drawArrows(graph);
  const room = Math.floor(MAX_LABEL_BYTES / graph.length);
  const colours = steps.map(colourOf);
  const nodes = graph.map((step, index) => {
    const [open, close] = SHAPES[shapeOf(step, steps[index])];
    return `  ${ids[index]}${open}"${label(step.name, room)}"${close}:::${colours[index] ?? 'pending'}`;
  });
  const used = [...new Set(colours)].sort();
  const classes = used.map((colour) => `  classDef ${colour} ${COLOURS[colour]}`);
  return ['graph TD', ...nodes, ...arrows, ...classes].join('\n');
}

const colourOf = ({ status, skippedBy, retries }: DrawnStep): Colour => {
  if (retries) return 'retrying';
  return skippedBy === 'condition' ? 'unmet' : status;
};

const shapeOf = ({ otherwise }: GraphStep, step: DrawnStep | undefined): keyof typeof SHAPES => {
  if (step?.waits === true) return 'wait';
  return otherwise === null ? 'task' : 'condition';
};

function drawArrows(graph: Graph): { readonly ids: readonly string[]; readonly arrows: readonly string[] } {
  const named = graph.map((step, index) => nodeId(step.name, index));
  const length = graph.reduce(
    (sum, step, index) =>
      step.dependsOn.reduce((rest, before) => rest + arrow(named[before]!, named[index]!).length, sum),
    0,
  );
  const ids = length <= MAX_ARROW_CHARACTERS ? named : graph.map((_, index) => `s${index}`);
  return {
    ids,
    arrows: graph.flatMap((step, index) => step.dependsOn.map((before) => arrow(ids[before]!, ids[index]!))),
  };
}

const arrow = (from: string, to: string): string => `  ${from} --> ${to}`;

const PLAIN_WORD = /^[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*$/;
const MADE_UP = /^s\d+$/;
const MAX_ID_LENGTH = 64;

/** Mermaid treats these as keywords even where a node is expected, and takes a hyphen as the end of a word. */
const RESERVED = new Set([
  ...['end', 'graph', 'flowchart', 'subgraph', 'direction', 'style', 'linkstyle', 'classdef', 'class', 'default'],
  ...['click', 'href', 'call', 'interpolate', 'acctitle', 'accdescr'],
]);

function nodeId(name: string, index: number): string {
  const isUsable = name.length <= MAX_ID_LENGTH && PLAIN_WORD.test(name) && !MADE_UP.test(name);
  const words = isUsable ? name.toLowerCase().split('-') : [];
  return isUsable && !words.some((word) => RESERVED.has(word)) ? name : `s${index}`;
}

const WORD = /[\p{L}\p{N}]/u;
/** Harmless between two letters; at the edge of a word they may begin a list, an emphasis or a code block. */
const JOINT = /[ _.,-]/;

function label(name: string, room: number): string {
  const characters = [...name];
  const isWord = (at: number): boolean => WORD.test(characters[at] ?? '');
  let text = '';
  let left = room;
  for (const [at, character] of characters.entries()) {
    const stays = isWord(at) || (JOINT.test(character) && isWord(at - 1) && isWord(at + 1));
    const next = stays ? character : entity(character);
    left -= Buffer.byteLength(next);
    if (left < 0) return text + ELLIPSIS;
    text += next;
  }
  return text;
}

const entity = (character: string): string => `#${character.codePointAt(0)};`;
const ELLIPSIS = entity('…');
