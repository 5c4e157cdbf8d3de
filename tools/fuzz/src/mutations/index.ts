import type { Random } from '@millrace/tools-shared';
import type { Case } from '../draft.js';
import type { Operation } from '../openapi.js';
import { caseOf, validRequest, type World } from '../valid.js';
import { AUTH_MUTATIONS } from './auth.js';
import { BODY_MUTATIONS } from './body.js';
import { CHUNKED_MUTATIONS } from './chunked.js';
import { EDGE_MUTATIONS } from './edges.js';
import { FRAMING_MUTATIONS } from './framing.js';
import { HEAD_MUTATIONS } from './head.js';
import type { Mutation, Mutations } from './types.js';

const FAMILIES: readonly (readonly [weight: number, mutations: Mutations])[] = [
  [5, BODY_MUTATIONS],
  [4, HEAD_MUTATIONS],
  [1, AUTH_MUTATIONS],
  [1, FRAMING_MUTATIONS],
  [1, CHUNKED_MUTATIONS],
  [1, EDGE_MUTATIONS],
];

/** Mutations to use less often: large bodies take a hundred times as long as the rest. */
const RARE = new Map([
  ['json.large', 0.06],
  ['json.nest', 0.4],
  ['json.dense', 0.2],
  ['json.dense-member', 0.2],
  ['chunked.large', 0.1],
  ['chunked.pieces', 0.05],
  ['header.many', 0.2],
]);

/** Valid requests fill the service with data for the broken ones to work on. */
const VALID_SHARE = 0.3;

/** One request to any operation, either valid or broken in one way. */
export function makeCase(world: World, random: Random): Case {
  const blank = validRequest(world, pickOperation(world.operations, random), random);
  if (random.chance(VALID_SHARE)) return caseOf(blank, 'none');
  for (;;) {
    const [name, mutate] = pickMutation(random);
    if (!random.chance(RARE.get(name) ?? 1)) continue;
    const made = mutate(blank, random, world);
    if (made !== null) return made;
  }
}

/** Prefers operations with a body: there is more to get wrong. */
function pickOperation(operations: readonly Operation[], random: Random): Operation {
  const operation = random.pick(operations);
  return operation.body === null && random.chance(0.6) ? pickOperation(operations, random) : operation;
}

/** The names of all classes of requests; `none` for valid ones. */
export const CLASSES: readonly string[] = ['none', ...FAMILIES.flatMap(([, family]) => Object.keys(family))];

/** One request of a class, to any operation that it applies to. */
export function makeCaseOf(name: string, world: World, random: Random): Case {
  const mutate = FAMILIES.map(([, family]) => family[name]).find((each) => each !== undefined);
  for (;;) {
    const blank = validRequest(world, pickOperation(world.operations, random), random);
    const made = mutate === undefined ? caseOf(blank, 'none') : mutate(blank, random, world);
    if (made !== null) return made;
  }
}

function pickMutation(random: Random): readonly [string, Mutation] {
  const weighted = FAMILIES.flatMap(([weight, family]) => Array.from({ length: weight }, () => family));
  return random.pick(Object.entries(random.pick(weighted)));
}
