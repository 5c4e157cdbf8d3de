import type { IconName } from '../components/icon.js';

interface NavEntry {
  /** A route of router.tsx. */
  readonly to: string;
  readonly title: string;
  readonly icon: IconName;
}

interface NavGroup {
  /** Null: the first entries, which need no heading. */
  readonly title: string | null;
  readonly entries: readonly NavEntry[];
}

/**
 * The menu, in its order: at most seven entries that people come for, the rest in groups. A new page goes into a group
 * unless one of the seven gives way.
 */
const MAIN = {
  title: null,
  entries: [
    { to: '/', title: 'Overview', icon: 'overview' },
    { to: '/jobs', title: 'Jobs', icon: 'jobs' },
    { to: '/workflows', title: 'Workflows', icon: 'workflows' },
    { to: '/dead-letters', title: 'Dead letters', icon: 'deadLetters' },
    { to: '/queues', title: 'Queues', icon: 'queues' },
    { to: '/cron', title: 'Cron', icon: 'cron' },
  ],
} as const satisfies NavGroup;

const HANDS = {
  title: 'At work',
  entries: [
    { to: '/waiting', title: 'Waiting for you', icon: 'waiting' },
    { to: '/workers', title: 'Workers', icon: 'workers' },
    { to: '/operations', title: 'Operations', icon: 'operations' },
  ],
} as const satisfies NavGroup;

/** Only for an operator's credential. */
const OPERATOR = {
  title: 'Operator',
  entries: [
    { to: '/admin', title: 'All tenants', icon: 'tenants' },
    { to: '/audit', title: 'Audit', icon: 'audit' },
  ],
} as const satisfies NavGroup;

/** Where an operator begins. */
export const ADMIN_HOME = '/admin';

/** The pages that belong to no tenant. */
export const isOperatorPage = (path: string): boolean => OPERATOR.entries.some(({ to }) => to === path);

/** Who is a tenant sees the pages of tenants, an operator those of operators, and a developer both. */
export function navOf(kind: string): readonly (typeof MAIN | typeof HANDS | typeof OPERATOR)[] {
  if (kind === 'admin') return [OPERATOR];
  return kind === 'developer' ? [MAIN, HANDS, OPERATOR] : [MAIN, HANDS];
}
