import type { Case } from '../case.js';
import { bulk } from './bulk.js';
import { heap } from './heap.js';
import { outage } from './outage.js';
import { pages } from './pages.js';
import { payload } from './payload.js';
import { sizes } from './sizes.js';
import { stream } from './stream.js';
import { workflow } from './workflow.js';

/** In this order: what measures comes before what breaks things, and the long wait comes last. */
export const CASES: readonly Case[] = [sizes, pages, workflow, payload, stream, bulk, outage, heap];
