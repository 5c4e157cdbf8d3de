import type { Random } from '@millrace/tools-shared';
import type { Case } from '../draft.js';
import type { Blank, World } from '../valid.js';

/** Breaks a valid request in one way; null if that does not apply to it. */
export type Mutation = (blank: Blank, random: Random, world: World) => Case | null;

export type Mutations = Readonly<Record<string, Mutation>>;
