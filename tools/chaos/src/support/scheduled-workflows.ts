import type { Database } from '../stage/database.js';
import type { Stage } from '../stage/stage.js';

/** What schedules that start workflows every second have recorded, and what is wrong with it. */

interface Firing {
  readonly cron: string;
  readonly overlap: 'allow' | 'skip';
  readonly number: number;
  readonly kind: string;
  /** In seconds since 1970. */
  readonly occurrence: number;
  readonly firedAt: number;
  readonly workflow: string | null;
}

interface Workflow {
  readonly id: string;
  readonly cron: string;
  /** Null: it was triggered by hand. */
  readonly dueAt: number | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

/** An end is as old as its transaction's beginning, and so is a firing: either may have committed first. */
const SLACK_SECS = 1;
/** Later than this, occurrences count as missed, and one firing stands for them. */
const LATE_SECS = 2;
/** How many firings of a schedule are kept. */
const KEPT = 1_000;

export async function judgeSchedules(
  stage: Stage,
  database: Database,
): Promise<{ readonly kinds: ReadonlyMap<string, number> }> {
  const firings = await database.query<Firing>(`
    SELECT f.cron_id AS cron, CASE WHEN c.skips THEN 'skip' ELSE 'allow' END AS overlap, f.number::int, f.kind,
           extract(epoch FROM f.occurrence)::float8 AS occurrence, extract(epoch FROM f.fired_at)::float8 AS "firedAt",
           f.workflow_id AS workflow
    FROM millrace.cron_firings f JOIN millrace.crons c ON c.tenant = f.tenant AND c.id = f.cron_id
    ORDER BY f.cron_id, f.number`);
  const workflows = await database.query<Workflow>(`
    SELECT w.id, w.metadata ->> 'cron_id' AS cron,
           extract(epoch FROM (w.metadata ->> 'cron_due_at')::timestamptz)::float8 AS "dueAt",
           extract(epoch FROM w.created_at)::float8 AS "createdAt",
           extract(epoch FROM e.completed_at)::float8 AS "endedAt"
    FROM millrace.workflows w LEFT JOIN millrace.workflow_ends e ON e.tenant = w.tenant AND e.id = w.id`);
  const byId = new Map(workflows.map((workflow) => [workflow.id, workflow]));
  judgeEach(stage, firings, byId);
  const recorded = new Set(firings.map(({ workflow }) => workflow));
  // Of a long run, the record has the last thousand firings of a schedule.
  const first = new Map<string, number>();
  for (const { cron, firedAt, number } of firings)
    if (!first.has(cron)) first.set(cron, number === 1 ? -Infinity : firedAt);
  for (const { id, cron, createdAt } of workflows)
    if (createdAt >= (first.get(cron) ?? 0)) stage.expect(recorded.has(id), `the workflow ${id} has no firing`);
  for (const cron of new Set(firings.map((firing) => firing.cron))) {
    const own = firings.filter((firing) => firing.cron === cron);
    judgeOrder(stage, own, await firedOf(database, cron));
    if (own[0]?.overlap === 'skip') judgeOverlap(stage, own, byId);
  }
  const kinds = new Map<string, number>();
  for (const { kind } of firings) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return { kinds };
}

async function firedOf(database: Database, cron: string): Promise<number> {
  const [row] = await database.query<{ n: number }>('SELECT fired::int AS n FROM millrace.crons WHERE id = $1', [cron]);
  return row?.n ?? -1;
}

/** One workflow each, of its own occurrence, and none of a skipped one. */
function judgeEach(stage: Stage, firings: readonly Firing[], workflows: ReadonlyMap<string, Workflow>): void {
  const occurrences = new Set<string>();
  for (const { cron, overlap, number, kind, occurrence, workflow } of firings) {
    const which = `firing ${number} of ${overlap}`;
    stage.expect((kind === 'skipped') === (workflow === null), `${which} is ${kind}, with workflow ${workflow}`);
    if (kind === 'skipped') stage.expect(overlap === 'skip', `${which} was skipped`);
    if (kind !== 'triggered') {
      const key = `${cron} ${occurrence}`;
      stage.expect(!occurrences.has(key), `${which}: its occurrence has more than one firing`);
      occurrences.add(key);
    }
    if (workflow === null) continue;
    const found = workflows.get(workflow);
    stage.expect(found?.cron === cron, `${which} names a workflow that is not there: ${workflow}`);
    const dueAt = kind === 'triggered' ? null : occurrence;
    stage.expect(found?.dueAt === dueAt, `${which} is of another occurrence than its workflow`);
  }
}

/** No number is missing, and no second, unless the schedulers were away. */
function judgeOrder(stage: Stage, firings: readonly Firing[], fired: number): void {
  const numbers = firings.map(({ number }) => number);
  const kept = Math.min(fired, KEPT);
  const isWhole = numbers.length === kept && numbers.every((number, n) => number === fired - kept + n + 1);
  stage.expect(isWhole, `the schedule counts ${fired} firings, and has ${numbers.join(' ')}`);
  const due = firings.filter(({ kind }) => kind !== 'triggered');
  for (const [n, next] of due.entries()) {
    const before = due[n - 1];
    if (before === undefined || next.occurrence === before.occurrence + 1) continue;
    const wasLate = before.kind === 'catch_up' || before.firedAt - before.occurrence > LATE_SECS;
    stage.expect(
      next.occurrence > before.occurrence && wasLate,
      `occurrences are missing between firings ${before.number} and ${next.number} of ${next.overlap}`,
    );
  }
}

/** What was fired found the last one ended, what was skipped did not. A trigger by hand heeds nothing. */
function judgeOverlap(stage: Stage, firings: readonly Firing[], workflows: ReadonlyMap<string, Workflow>): void {
  let last: Workflow | undefined;
  for (const { number, kind, firedAt, workflow } of firings) {
    const endedAt = last === undefined ? -Infinity : (last.endedAt ?? Infinity);
    if (kind === 'skipped')
      stage.expect(endedAt >= firedAt - SLACK_SECS, `firing ${number} was skipped, though the last had ended`);
    else if (kind !== 'triggered')
      stage.expect(endedAt <= firedAt + SLACK_SECS, `firing ${number} overlaps the one before it`);
    if (workflow !== null) last = workflows.get(workflow);
  }
}
