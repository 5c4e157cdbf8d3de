import type { ManagedProcess } from '../stage/processes.js';
import type { Stage } from '../stage/stage.js';

/** What durable workers say of their steps: that one runs, and what they were told stands under its name. */
interface StepLine {
  readonly msg: 'ran' | 'kept';
  readonly job: string;
  readonly step: string;
  readonly at: number;
  readonly value?: string;
  readonly mine?: string | null;
}

/** A step whose result was acknowledged never runs again, and has that result in every attempt. */
export function judgeSteps(stage: Stage, workers: readonly ManagedProcess[]): void {
  const steps = new Map<string, StepLine[]>();
  for (const worker of workers)
    for (const line of worker.lines() as readonly unknown[] as readonly StepLine[]) {
      if (line.msg !== 'ran' && line.msg !== 'kept') continue;
      const name = `${line.job} ${line.step}`;
      steps.set(name, [...(steps.get(name) ?? []), line]);
    }
  let runs = 0;
  for (const [name, lines] of steps) {
    const kept = lines.filter(({ msg }) => msg === 'kept');
    const acknowledgedAt = Math.min(...kept.map(({ at }) => at));
    const ran = lines.filter(({ msg }) => msg === 'ran');
    runs += ran.length;
    if (ran.some(({ at }) => at > acknowledgedAt)) stage.violation(`${name} ran after its result was acknowledged`);
    if (new Set(kept.map(({ value }) => value)).size > 1) stage.violation(`${name} had two results`);
    const other = kept.some(({ mine, value }) => mine !== null && mine !== value);
    if (other) stage.violation(`${name} ran, and another result stood under its name`);
  }
  stage.expect(steps.size > 0, 'no step ran: nothing was tested');
  stage.note(`${steps.size} steps, ${runs} runs of them`);
}
