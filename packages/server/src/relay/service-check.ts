import { verdictOf, type Again, type Stop } from './verdict.js';
import type { KeyLives } from './one-by-one.js';
import type { ServiceClient } from './service-client.js';

/**
 * A key outlives its job by nothing, but lives a week at least. A little less, because a call takes its time. The keys
 * of workflows go with retention.
 */
const WEEK_SECS = 7 * 86_400;
const MARGIN_SECS = 60;

interface WhoAmI {
  readonly kind?: unknown;
  readonly read_only?: unknown;
  readonly features?: unknown;
  readonly retention_hours?: unknown;
}

/** Asks the service who we are to it. */
export async function checkService(service: ServiceClient): Promise<KeyLives | Again | Stop> {
  const reply = await service.whoAmI();
  const verdict = verdictOf(reply);
  if (verdict.kind === 'again' || verdict.kind === 'stop') return verdict;
  if (verdict.kind !== 'delivered' || reply.kind !== 'answer') return stop('it does not say who the caller is');
  const { kind, read_only: readOnly, features, retention_hours: retention } = whoAmI(reply.body);
  if (kind !== 'tenant' && kind !== 'developer') return stop('its token must be that of a tenant');
  if (readOnly === true) return stop('its token may only read');
  if (!Array.isArray(features) || !features.includes('item_keys'))
    return stop('the service is older than this relay: it does not support a key for each job of a batch');
  const workflowSecs = typeof retention === 'number' ? Math.min(WEEK_SECS, retention * 3_600) : WEEK_SECS;
  return { jobSecs: WEEK_SECS - MARGIN_SECS, workflowSecs: Math.max(0, workflowSecs - MARGIN_SECS) };
}

const stop = (reason: string): Stop => ({ kind: 'stop', reason });

function whoAmI(body: string): WhoAmI {
  try {
    return (JSON.parse(body) ?? {}) as WhoAmI;
  } catch {
    return {};
  }
}
