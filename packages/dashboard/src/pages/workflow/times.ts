import type { Workflow, WorkflowStep } from '@millrace/contract';
import type { StepTimes } from '../../lib/graph/critical-path.js';

export interface BarTimes extends StepTimes {
  /** When everything it depends on had ended: from here to its start it waited for a worker. */
  readonly readyAt: number | null;
}

const instant = (text: string | null | undefined): number | null =>
  text === null || text === undefined ? null : Date.parse(text);

/** When each step was ready, started and ended. Servers of earlier versions say neither: such steps have no times. */
export function timesOf({ steps: definitions, created_at }: Workflow, steps: readonly WorkflowStep[]): BarTimes[] {
  const byName = new Map(steps.map((step) => [step.name, step]));
  return definitions.map(({ name, depends_on }) => {
    const step = byName.get(name);
    const ends = depends_on.map((other) => instant(byName.get(other)?.completed_at));
    const readyAt = ends.includes(null) ? null : Math.max(Date.parse(created_at), ...ends.map((end) => end ?? 0));
    return {
      name,
      dependsOn: depends_on,
      readyAt,
      startedAt: instant(step?.started_at),
      endedAt: instant(step?.completed_at),
    };
  });
}
