import { encode, type Case, type Draft } from './draft.js';

/** Fewer, shorter, simpler: a failing request that still fails with less in it is easier to understand. */

const MAX_TRIES = 80;

/** The smallest request found that `stillFails`. Broken framing is left as it is. */
export async function shrink(failing: Case, stillFails: (each: Case) => Promise<boolean>): Promise<Case> {
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

/** The largest steps first. */
function smaller(draft: Draft): Draft[] {
  return [
    ...smallerBodies(draft.body).map((body) => ({ ...draft, body })),
    ...draft.headers.map((_, i) => ({ ...draft, headers: draft.headers.filter((_, j) => j !== i) })),
  ].filter((each) => encode(each).length < encode(draft).length);
}

function smallerBodies(body: Buffer | null): Buffer[] {
  if (body === null || body.length === 0) return [];
  const half = body.length >> 1;
  return [...withoutMembers(body), body.subarray(0, half), body.subarray(half)];
}

/** The document without one of its top members, or of theirs; only where it survives being read and written. */
function withoutMembers(body: Buffer): Buffer[] {
  let value: unknown;
  try {
    value = JSON.parse(body.toString());
  } catch {
    return [];
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  const members = Object.entries(value);
  const without = members.map(([key]) => Object.fromEntries(members.filter(([each]) => each !== key)));
  const emptied = members
    .filter(([, inner]) => typeof inner === 'object' && inner !== null && Object.keys(inner as object).length > 0)
    .map(([key, inner]) => ({ ...value, [key]: Array.isArray(inner) ? inner.slice(0, -1) : {} }));
  return [...without, ...emptied].map((each) => Buffer.from(JSON.stringify(each)));
}
