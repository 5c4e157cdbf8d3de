/** The pages of the menu, in its order. Their addresses are routes of router.tsx. */
export const NAV = [
  { to: '/', title: 'Overview' },
  { to: '/jobs', title: 'Jobs' },
  { to: '/workflows', title: 'Workflows' },
  { to: '/dead-letters', title: 'Dead letters' },
  { to: '/waiting', title: 'Waiting for you' },
  { to: '/cron', title: 'Cron' },
  { to: '/queues', title: 'Queues' },
  { to: '/workers', title: 'Workers' },
  { to: '/operations', title: 'Operations' },
] as const;

/** Only for an operator's credential. */
export const ADMIN_NAV = { to: '/admin', title: 'All tenants' } as const;
