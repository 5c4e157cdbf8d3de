import type { StepStatus } from '@millrace/contract';
import type { Graph } from './dag.js';

/**
 * A workflow as a Mermaid diagram. Nodes are called s0, s1, … so that no step name can be taken for syntax; the name is the label, in
 * quotes, with everything that means something to Mermaid or to HTML written as an entity.
 */
const COLOURS: Record<StepStatus, string> = {
  pending: 'fill:#e5e7eb,stroke:#6b7280,color:#111827',
  running: 'fill:#bfdbfe,stroke:#2563eb,color:#111827',
  completed: 'fill:#bbf7d0,stroke:#16a34a,color:#111827',
  failed: 'fill:#fecaca,stroke:#dc2626,color:#111827',
  cancelled: 'fill:#fde68a,stroke:#d97706,color:#111827',
  skipped: 'fill:#f3f4f6,stroke:#9ca3af,color:#6b7280,stroke-dasharray:4',
};

export function mermaid(graph: Graph, statuses: readonly StepStatus[]): string {
  const nodes = graph.map((step, index) => `  s${index}["${label(step.name)}"]:::${statuses[index] ?? 'pending'}`);
  const edges = graph.flatMap((step, index) => step.dependsOn.map((dependency) => `  s${dependency} --> s${index}`));
  const used = [...new Set(statuses)].sort();
  const classes = used.map((status) => `  classDef ${status} ${COLOURS[status]}`);
  return ['graph TD', ...nodes, ...edges, ...classes].join('\n');
}

/** Letters, digits and the marks that mean nothing anywhere stay; everything else becomes a numbered entity. */
function label(name: string): string {
  let text = '';
  for (const character of name)
    text += /[\p{L}\p{N} _.,-]/u.test(character) ? character : `#${character.codePointAt(0)};`;
  return text;
}
