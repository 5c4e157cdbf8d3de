import type { Case } from '../draft.js';
import type { Random } from '../random.js';
import type { Blank, World } from '../valid.js';

/** Makes something of a valid request, or null where it has nothing to get hold of. */
export type Mutation = (blank: Blank, random: Random, world: World) => Case | null;

export type Mutations = Readonly<Record<string, Mutation>>;
