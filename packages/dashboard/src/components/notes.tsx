import type { ReactNode } from 'react';
import { ApiError } from '../api/client.js';
import { isMissing, type Read } from '../api/hooks.js';
import { Command } from './copy.js';
import { Icon, type IconName } from './icon.js';

/** What went wrong: the sentence, the code, and the id to find it by in the server's logs. */
export function ErrorNote({ error }: { readonly error: Error }): ReactNode {
  const api = error instanceof ApiError ? error : null;
  return (
    <div className="note tone-red" role="alert">
      <Icon name="alert" /> <span className="sentence">{error.message}</span>
      {api?.details?.map((detail, index) => (
        <div key={index} className="mono">
          {Object.values(detail)
            .filter((part) => typeof part === 'string')
            .join(': ')}
        </div>
      ))}
      {api !== null && (
        <div className="quiet mono">
          {api.code}
          {api.requestId !== null && ` · request ${api.requestId}`}
        </div>
      )}
    </div>
  );
}

interface EmptyProps {
  /** What there is none of, in a few words: "No schedule yet". */
  readonly title?: string;
  readonly icon?: IconName;
  /** What it would be good for. */
  readonly children: ReactNode;
  /** What makes the first one, to copy: a command, or a line of code. */
  readonly curl?: string;
}

/** Nothing there: what it would be, and the command that makes one. */
export function Empty({ title, icon, children, curl }: EmptyProps): ReactNode {
  return (
    <div className="empty">
      {icon !== undefined && (
        <span className="empty-icon">
          <Icon name={icon} size={22} />
        </span>
      )}
      {title !== undefined && <b>{title}</b>}
      <p>{children}</p>
      {curl !== undefined && <Command text={curl} />}
    </div>
  );
}

/** What is being loaded has this shape, roughly. */
export type Shape = 'rows' | 'tiles' | 'plot';

const PARTS: Readonly<Record<Shape, number>> = { rows: 6, tiles: 6, plot: 1 };

/** A place for what is coming, of its shape. */
export const Loading = ({ shape = 'rows' }: { readonly shape?: Shape }): ReactNode => (
  <div className={shape === 'tiles' ? 'tiles skeleton' : `skeleton ${shape}`} role="status">
    <span className="visually-hidden">Loading…</span>
    {Array.from({ length: PARTS[shape] }, (_, index) => (
      <span key={index} aria-hidden="true" />
    ))}
  </div>
);

interface LoadedProps<T> {
  readonly read: Pick<Read<T>, 'answer' | 'error' | 'isPlaceholder'>;
  /** What is read, for servers that do not have it: "Workers". */
  readonly what: string;
  /** While it is read for the first time. */
  readonly shape?: Shape;
  readonly children: (data: T, text: string) => ReactNode;
}

/**
 * What was read, while it is read, and what went wrong. Old data stays in view, dimmed, while other data loads; a
 * server that does not know the route is told about quietly.
 */
export function Loaded<T>({ read, what, shape, children }: LoadedProps<T>): ReactNode {
  const { answer, error, isPlaceholder } = read;
  if (error !== null && answer === undefined) {
    if (isMissing(error)) return <p className="quiet">{what}: this server does not offer it, or it is gone.</p>;
    return <ErrorNote error={error} />;
  }
  if (answer === undefined) return <Loading shape={shape ?? 'rows'} />;
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      <div className={isPlaceholder ? 'dimmed' : undefined} aria-busy={isPlaceholder}>
        {children(answer.data, answer.text)}
      </div>
    </>
  );
}
