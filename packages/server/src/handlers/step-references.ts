import { resolveReferences } from '@millrace/sdk/references';
import type { Handler, Handlers, JsonObject } from './types.js';

/**
 * Handlers that, in a step of a workflow, see what the references in its payload (`{"$step": …}`) refer to. A job of
 * its own may hold the same text as data, so there it stays as it is. The rule itself is the SDK's.
 */
export const resolvingReferences = (handlers: Handlers): Handlers =>
  Object.fromEntries(Object.entries(handlers).map(([task, handler]) => [task, resolving(handler)]));

const resolving =
  (handler: Handler): Handler =>
  (payload, context) =>
    handler(context.job.workflowId === null ? payload : (resolveReferences(payload) as JsonObject), context);
