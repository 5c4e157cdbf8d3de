import { Link, useRouter, type NavigateOptions } from '@tanstack/react-router';
import type { MouseEvent, ReactNode } from 'react';
import { shortId } from '../lib/format.js';
import { UI_PATH } from '../lib/places.js';

interface PlainLinkProps {
  /** Where it leads, for the router and, under the path of the dashboard, for the browser. */
  readonly place: NavigateOptions;
  readonly path: string;
  readonly title?: string | undefined;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

/**
 * A link that does not follow where one is. The router's own works out for each link whether it leads to the page in
 * view, and again at every change of the address: with a hundred links, a good part of the time that a list takes.
 */
function PlainLink({ place, path, title, className, children }: PlainLinkProps): ReactNode {
  const router = useRouter();
  const prepare = (): void => void router.preloadRoute(place);
  const open = (event: MouseEvent): void => {
    // With another button or a key held down, the browser opens it elsewhere.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate(place);
  };
  return (
    <a
      href={UI_PATH + path}
      title={title}
      className={className}
      onClick={open}
      onMouseEnter={prepare}
      onFocus={prepare}
    >
      {children}
    </a>
  );
}

interface IdLinkProps {
  readonly id: string;
  readonly children?: ReactNode;
}

/** The link to a job: its id, shortened, in full on hover. */
export const JobLink = ({ id, children }: IdLinkProps): ReactNode => (
  <PlainLink
    place={{ to: '/jobs/$id', params: { id } }}
    path={`/jobs/${id}`}
    title={id}
    className={children === undefined ? 'mono' : undefined}
  >
    {children ?? shortId(id)}
  </PlainLink>
);

interface QueueLinkProps {
  readonly queue: string;
  readonly className?: string;
  readonly children?: ReactNode;
}

export const QueueLink = ({ queue, className, children }: QueueLinkProps): ReactNode => (
  <PlainLink
    place={{ to: '/queues/$queue', params: { queue } }}
    path={`/queues/${encodeURIComponent(queue)}`}
    className={className}
  >
    {children ?? queue}
  </PlainLink>
);

/** The link to a worker among all workers. */
export const WorkerLink = ({ id }: { readonly id: string }): ReactNode => (
  <PlainLink
    place={{ to: '/workers', search: { worker: id } as never }}
    path={`/workers?worker=${encodeURIComponent(id)}`}
    title={id}
    className="mono"
  >
    {id}
  </PlainLink>
);

export const WorkflowLink = ({ id, children }: IdLinkProps): ReactNode => (
  <PlainLink
    place={{ to: '/workflows/$id', params: { id } }}
    path={`/workflows/${id}`}
    title={id}
    className={children === undefined ? 'mono' : undefined}
  >
    {children ?? shortId(id)}
  </PlainLink>
);

interface FilterLinkProps {
  readonly to: '/jobs' | '/dead-letters' | '/workflows' | '/cron';
  /** What the page is to be set to. */
  readonly filter: Readonly<Record<string, string>>;
  readonly className?: string;
  readonly children: ReactNode;
}

/** A link to a list with its filters set. */
export const FilterLink = ({ to, filter, className, children }: FilterLinkProps): ReactNode => (
  // The router types the search of each route; ours are plain texts on every route.
  <Link to={to} search={filter as never} className={className}>
    {children}
  </Link>
);
