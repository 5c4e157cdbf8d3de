import { encode, type Case, type Draft } from './draft.js';

/** A smaller request that still fails is easier to understand. */
const MAX_TRIES = 80;

/** The smallest request found for which `stillFails` holds. Broken framing is left as it is. */
export async function shrink(failing: Case, stillFails: (candidate: Case) => Promise<boolean>): Promise<Case> {
  if (failing.raw !== undefined) return failing;
  let best = failing;
  let tries = 0;
  for (let improved = true; improved && tries < MAX_TRIES;) {
    improved = false;
    for (const draft of smaller(best.draft)) {
      if (++tries > MAX_TRIES) break;
      const candidate = { ...best, draft };
      if (!(await stillFails(candidate))) continue;
      best = candidate;
      improved = true;
      break;
    }
  }
  return best;
}

/** Smaller drafts, the largest reductions first. */
function smaller(draft: Draft): Draft[] {
  return [
    ...smallerBodies(draft.body).map((body) => ({ ...draft, body })),
    ...draft.headers.map((_, i) => ({ ...draft, headers: draft.headers.filter((_, j) => j !== i) })),
  ].filter((candidate) => encode(candidate).length < encode(draft).length);
}

function smallerBodies(body: Buffer | null): Buffer[] {
  if (body === null || body.length === 0) return [];
  const half = body.length >> 1;
  return [...withoutMembers(body), body.subarray(0, half), body.subarray(half)];
}

/** The document without one of its members, or with one of them emptied; only if it is a JSON object. */
function withoutMembers(body: Buffer): Buffer[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    return [];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const members = Object.entries(value);
  const without = members.map(([key]) => Object.fromEntries(members.filter(([other]) => other !== key)));
  const emptied = members
    .filter(([, inner]) => typeof inner === 'object' && inner !== null && Object.keys(inner as object).length > 0)
    .map(([key, inner]) => ({ ...value, [key]: Array.isArray(inner) ? inner.slice(0, -1) : {} }));
  return [...without, ...emptied].map((document) => Buffer.from(JSON.stringify(document)));
}
