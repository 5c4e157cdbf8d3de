import type { ChildJob } from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import type { ChildSpec } from '../../domain/records.js';
import type { InputSettings } from './caller-text.js';
import { jobSpec } from './job-input.js';

/**
 * Jobs that a running job creates, from what was sent to what the engine takes. `texts`: of each, what belongs to the
 * caller (CALLER_FIELDS).
 */
export function childSpecs(
  jobs: readonly ChildJob[],
  texts: readonly (readonly (string | undefined)[])[],
  settings: InputSettings,
): ChildSpec[] {
  const named = new Set<string>();
  return jobs.map((job, n) => {
    const path = `jobs[${n}].`;
    if (named.has(job.name)) throw invalidField(`${path}name`, 'is the name of another child in this request');
    named.add(job.name);
    refuseKeys(job, path);
    return { name: job.name, detached: job.detached ?? false, spec: jobSpec(job, texts[n] ?? [], settings, path) };
  });
}

/** A child is what its parent has under that name: no other rule decides whether it is created. */
function refuseKeys(job: ChildJob, path: string): void {
  const { config, idempotency_key: key } = job as { config?: { unique?: unknown } | null; idempotency_key?: unknown };
  for (const [field, value] of [
    ['config.unique', config?.unique],
    ['idempotency_key', key],
  ] as const) {
    if ((value ?? null) === null) continue;
    throw invalidField(`${path}${field}`, 'is not possible for a child: it is created once per parent and name');
  }
}
