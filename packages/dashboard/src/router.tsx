import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { beginRead, SHARES_SPAN } from './api/hooks.js';
import { ErrorNote } from './components/notes.js';
import { parseAddress, printAddress, type Address } from './lib/address.js';
import { UI_PATH } from './lib/places.js';
import { jobQuery } from './pages/jobs/job-query.js';
import { session } from './session/session.js';
import { isOperatorPage } from './shell/nav.js';
import { Shell } from './shell/shell.js';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

/** What each page reads first, by its path. */
const beginnings = new Map<string, (address: Address) => void>();

/**
 * Each page is a file of its own that is fetched when somebody goes there. What it reads first may begin meanwhile; the
 * page then finds it under way.
 */
const page = <const Path extends string>(
  path: Path,
  load: () => Promise<{ default: () => ReactNode }>,
  begin?: (address: Address) => void,
) => {
  if (begin !== undefined) beginnings.set(path, begin);
  return createRoute({
    getParentRoute: () => root,
    path,
    component: lazyRouteComponent(load),
    loader: ({ cause, location }) => {
      // Not for a link that is merely pointed at.
      if (cause === 'enter') beginReading(path, location.search);
    },
  });
};

function beginReading(path: string, address: Address): void {
  // Operators are not shown the pages of tenants (see the shell).
  const isShown = isOperatorPage(path) || session.get().who?.kind !== 'admin';
  if (isShown) beginnings.get(path)?.(address);
}

function beginJobs(address: Address): void {
  // A span begins at an instant that the page chooses.
  if (address.since === undefined) beginRead('/jobs', jobQuery(address));
}

function beginAdmin({ cursor, queue }: Address): void {
  for (const what of ['overview', 'queues', 'workers']) beginRead(`/admin/${what}`);
  beginRead('/admin/tenants', { cursor });
  beginRead('/admin/series', { queue }, SHARES_SPAN);
}

const routeTree = root.addChildren([
  page('/', () => import('./pages/overview/overview-page.js')),
  page('/jobs', () => import('./pages/jobs/jobs-page.js'), beginJobs),
  page('/jobs/$id', () => import('./pages/job/job-page.js')),
  page('/workflows', () => import('./pages/workflows/workflows-page.js')),
  page('/workflows/$id', () => import('./pages/workflow/workflow-page.js')),
  page('/dead-letters', () => import('./pages/dead-letters/dead-letters-page.js')),
  page('/dead-letters/$id', () => import('./pages/dead-letters/dead-letter-page.js')),
  page('/waiting', () => import('./pages/waiting/waiting-page.js')),
  page('/cron', () => import('./pages/cron/cron-page.js')),
  page('/queues', () => import('./pages/queues/queues-page.js')),
  page('/queues/$queue', () => import('./pages/queues/queue-page.js')),
  page('/workers', () => import('./pages/workers/workers-page.js')),
  page('/audit', () => import('./pages/audit/audit-page.js')),
  page('/admin', () => import('./pages/admin/admin-page.js'), beginAdmin),
  page('/operations', () => import('./pages/operations/operations-page.js')),
  page('/operations/$id', () => import('./pages/operations/operation-page.js')),
]);

export const router = createRouter({
  routeTree,
  basepath: UI_PATH === '' ? '/' : UI_PATH,
  // Plain text on both sides of the equals sign: addresses are read, typed and shared by people.
  parseSearch: (text) => parseAddress(text) as Record<string, string>,
  stringifySearch: printAddress,
  defaultPreload: 'intent',
  scrollRestoration: true,
  defaultErrorComponent: ({ error }) => <ErrorNote error={error instanceof Error ? error : new Error(String(error))} />,
});

/**
 * The first page: its code is fetched before it is known who asks, since signing in takes time too; and what it reads
 * is asked for the moment that is known, before anything is drawn.
 */
export function beginFirstPage(): void {
  const { pathname, search } = router.latestLocation;
  const [routes] = router.getMatchedRoutes(pathname);
  // A failure shows when the page does, which fetches again.
  for (const route of routes) router.loadRouteChunk(route)?.catch(() => undefined);
  const stop = session.subscribe(() => {
    if (session.get().who === null) return;
    stop();
    for (const { fullPath } of routes) beginReading(String(fullPath), search);
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

function NotFound(): ReactNode {
  return <p className="empty">There is no such page. Use the menu above.</p>;
}
