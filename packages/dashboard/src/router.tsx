import { Component, useLayoutEffect, type ReactNode } from 'react';
import { beginRead, SHARES_SPAN } from './api/hooks.js';
import { ErrorNote } from './components/notes.js';
import type { Address } from './lib/address.js';
import { useView, type Route } from './lib/routing.js';
import { jobQuery } from './pages/jobs/job-query.js';
import { session } from './session/session.js';
import { isOperatorPage } from './shell/nav.js';

/**
 * Each page is a file of its own that is fetched when somebody goes there. What it reads first may begin meanwhile; the
 * page then finds it under way.
 */
const page = (path: string, load: Route['load'], begin?: (address: Address) => void): Route => ({
  path,
  load,
  begin: begin && ((address) => whenSignedIn(() => (isShown(path) ? begin(address) : undefined))),
});

/** Operators are not shown the pages of tenants (see the shell). */
const isShown = (path: string): boolean => isOperatorPage(path) || session.get().who?.kind !== 'admin';

/** At once, or the moment it is known who asks: before anything is drawn. */
function whenSignedIn(then: () => void): void {
  if (session.get().who !== null) return then();
  const stop = session.subscribe(() => {
    if (session.get().who === null) return;
    stop();
    then();
  });
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

export const ROUTES: readonly Route[] = [
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
];

/** The page in view. */
export function Outlet(): ReactNode {
  const view = useView();
  const { path, pattern, page: Page, failure, top } = view;
  useLayoutEffect(() => {
    if (top !== null) scrollTo(0, top);
  }, [view, top]);
  if (pattern === null) return <p className="empty">There is no such page. Use the menu.</p>;
  if (failure !== null) return <ErrorNote error={failure} />;
  return <Guarded key={path}>{Page !== null && <Page />}</Guarded>;
}

/** What goes wrong while a page is drawn leaves the menu usable. */
class Guarded extends Component<{ readonly children: ReactNode }, { readonly error: Error | null }> {
  override state = { error: null };
  static getDerivedStateFromError(error: unknown): { error: Error } {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }
  override render(): ReactNode {
    return this.state.error === null ? this.props.children : <ErrorNote error={this.state.error} />;
  }
}
