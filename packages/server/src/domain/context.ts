import { objectText, rawEntries } from './raw-json.js';

/**
 * The context of a workflow, as JSON text throughout. When a step completes, the keys of its result are merged, later completions winning,
 * and the whole result stands under the step's own name. Names of completed steps win over keys, whichever came first.
 *
 * `_context` in a result never enters, neither as a key nor within the result under its step's name: a handler that hands its payload back
 * would otherwise put the context into itself, and a chain of such steps would double it each time.
 */
export interface StepResult {
  readonly name: string;
  readonly result: string;
}

const RESERVED = '_context';

/**
 * `results` in the order of completion. `isCompletedStep`: whether a name is that of a step that completed before these.
 */
export function mergeResults(
  context: string,
  results: readonly StepResult[],
  isCompletedStep: (name: string) => boolean,
): string {
  if (results.length === 0) return context;
  const merged = rawEntries(context);
  const named = new Set<string>();
  for (const { name, result } of results) {
    const entries = rawEntries(result);
    const own = entries.delete(RESERVED) ? objectText(entries) : result;
    for (const [key, text] of entries) if (!named.has(key) && !isCompletedStep(key)) merged.set(key, text);
    merged.set(name, own);
    named.add(name);
  }
  return objectText(merged);
}

/** The payload of a step's job: its own, with the context beside it. A key of that name in the payload gives way. */
export function withContext(payload: string, context: string): string {
  const entries = rawEntries(payload);
  entries.delete(RESERVED);
  entries.set(RESERVED, context);
  return objectText(entries);
}
