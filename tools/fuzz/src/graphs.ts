import type { Random } from '@millrace/tools-shared';
import { generate, TASKS } from './generate.js';
import { isObject, type Json, type JsonObject } from './json.js';
import type { SchemaChecker } from './schema.js';

/** Workflows and their steps, with the rules between fields that the schema does not tell. */

export function workflowOf(checker: SchemaChecker, random: Random, mark: string): JsonObject {
  const schema = checker.resolve('#/components/schemas/CreateWorkflow');
  const made = generate(checker, schema, { random, mark, name: '' }) as JsonObject;
  return { ...made, steps: graph(checker, random, mark) };
}

/** Steps depend only on earlier ones, so that there is no cycle. */
export function graph(checker: SchemaChecker, random: Random, mark: string): Json {
  const schema = checker.resolve('#/components/schemas/WorkflowStepInput');
  return Array.from({ length: random.integer(1, 5) }, (_, i) => {
    const { when: _when, wait, ...made } = generate(checker, schema, { random, mark, name: '' }) as JsonObject;
    const earlier = Array.from({ length: i }, (_, j) => `step-${j}`).filter(() => random.chance(0.4));
    return {
      ...(isObject(wait) && random.chance(0.6) ? waiting(made, wait, random) : running(made, random)),
      ...(random.chance(0.3) && { when: condition(random, mark, earlier) }),
      name: `step-${i}`,
      depends_on: earlier,
    };
  });
}

const running = (made: JsonObject, random: Random): JsonObject => ({ ...made, task_name: random.pick(TASKS) });

/** Some of them for the signal that other requests send. */
const waiting = (made: JsonObject, wait: JsonObject, random: Random): JsonObject => ({
  ...withoutTask(made),
  wait: random.chance(0.5) ? { ...wait, signal: 'go' } : wait,
});

/** What runs no task of its own says nothing about one. */
export function withoutTask(made: JsonObject): JsonObject {
  const { task_name: _task, payload: _payload, queue: _queue, config: _config, ...rest } = made;
  return rest;
}

/** About the context or a step before, both of which have a mark: some hold, some do not. */
function condition(random: Random, mark: string, earlier: readonly string[]): Json {
  const value = (): Json => random.pick<Json>([mark, random.word(), random.below(10), 1.5, true, null]);
  const path = ['mark', ...(random.chance(0.2) ? [random.word()] : [])];
  const ofStep = earlier.length > 0 && random.chance(0.5) ? { $step: random.pick(earlier) } : null;
  return {
    ref: ofStep === null ? { path } : { ...ofStep, ...(random.chance(0.7) && { path }) },
    ...random.pick<JsonObject>([{ is: value() }, { is_not: value() }, { in: [value(), value()] }]),
    ...(random.chance(0.5) && { otherwise: random.pick(['skip', 'continue']) }),
  };
}
