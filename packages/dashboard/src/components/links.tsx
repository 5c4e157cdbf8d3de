import type { AnchorHTMLAttributes, MouseEvent, ReactNode } from 'react';
import type { Address } from '../lib/address.js';
import { shortId } from '../lib/format.js';
import { go, hrefOf, prepare } from '../lib/routing.js';

interface LinkProps extends AnchorHTMLAttributes<HTMLAnchorElement> {
  /** A path of the dashboard; it may have a query of its own. */
  readonly to: string;
  /** What the page is to be set to. */
  readonly search?: Address | undefined;
  readonly children?: ReactNode;
}

/** A link to a page of the dashboard, whose file is fetched when somebody points at it. */
export function Link({ to, search, onClick, ...anchor }: LinkProps): ReactNode {
  const get = (): void => prepare(to);
  const open = (event: MouseEvent<HTMLAnchorElement>): void => {
    onClick?.(event);
    // With another button or a key held down, the browser opens it elsewhere.
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(to, search === undefined ? {} : { address: search });
  };
  return <a {...anchor} href={hrefOf(to, search)} onClick={open} onMouseEnter={get} onFocus={get} />;
}

interface IdLinkProps {
  readonly id: string;
  readonly children?: ReactNode;
}

/** The link to something by its id: shortened, in full on hover, unless there are words for it. */
const idLink =
  (place: string) =>
  ({ id, children }: IdLinkProps): ReactNode => (
    <Link to={`/${place}/${id}`} title={id} className={children === undefined ? 'mono' : undefined}>
      {children ?? shortId(id)}
    </Link>
  );

export const JobLink = idLink('jobs');
export const WorkflowLink = idLink('workflows');

/** The page of a queue. */
export const queuePlace = (queue: string): string => `/queues/${encodeURIComponent(queue)}`;

interface QueueLinkProps {
  readonly queue: string;
  readonly className?: string;
  readonly children?: ReactNode;
}

export const QueueLink = ({ queue, className, children }: QueueLinkProps): ReactNode => (
  <Link to={queuePlace(queue)} className={className}>
    {children ?? queue}
  </Link>
);

/** The link to a worker among all workers. */
export const WorkerLink = ({ id }: { readonly id: string }): ReactNode => (
  <Link to="/workers" search={{ worker: id }} title={id} className="mono">
    {id}
  </Link>
);
