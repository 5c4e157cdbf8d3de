import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { shortId } from '../lib/format.js';

/** The link to a job: its id, shortened, in full on hover. */
export const JobLink = ({ id, children }: { readonly id: string; readonly children?: ReactNode }): ReactNode => (
  <Link to="/jobs/$id" params={{ id }} title={id} className={children === undefined ? 'mono' : undefined}>
    {children ?? shortId(id)}
  </Link>
);

export const QueueLink = ({ queue }: { readonly queue: string }): ReactNode => (
  <Link to="/queues/$queue" params={{ queue }}>
    {queue}
  </Link>
);

export const WorkflowLink = ({ id, children }: { readonly id: string; readonly children?: ReactNode }): ReactNode => (
  <Link to="/workflows/$id" params={{ id }} title={id} className={children === undefined ? 'mono' : undefined}>
    {children ?? shortId(id)}
  </Link>
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
