import { objectText, withMembers } from '../../domain/json-members.js';
import { rawFields } from '../../domain/raw-json.js';
import type { JsonText } from '../../domain/records.js';
import type { WorkflowSpec } from '../../domain/workflow-records.js';
import type { Execute } from '../../store/connection/database.js';
import type { Effect } from '../shared/idempotency.js';
import type { StoredStart, WorkflowStarter } from '../shared/workflow-starter.js';
import { checked, type WorkflowCreator } from './creator.js';
import { parseSteps, requestedSteps } from './definitions.js';

/** Workflows that are stored before they are started, once or many times: those of schedules. */
export class StoredStarts implements WorkflowStarter {
  constructor(private readonly creator: WorkflowCreator) {}

  textOf(spec: WorkflowSpec, path: string): JsonText {
    checked(spec, path);
    return objectText([
      ['name', JSON.stringify(spec.name)],
      ['steps', requestedSteps(spec.steps)],
      ['context', spec.context],
      ['metadata', spec.metadata ?? '{}'],
    ]);
  }

  start(execute: Execute, starts: readonly StoredStart[]): Promise<Effect> {
    return this.creator.createIn(
      execute,
      starts.map((start) => ({ tenant: start.tenant, spec: specOf(start) })),
    );
  }
}

function specOf({ text, origin }: StoredStart): WorkflowSpec {
  const [name = '""', steps = '[]', context = '{}', metadata = '{}'] = rawFields(text, [
    'name',
    'steps',
    'context',
    'metadata',
  ]);
  return {
    name: JSON.parse(name) as string,
    steps: parseSteps(steps),
    context,
    metadata: withMembers(metadata, origin),
  };
}
