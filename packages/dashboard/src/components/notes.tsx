import type { ReactNode } from 'react';
import { ApiError } from '../api/client.js';
import { isMissing, type Read } from '../api/hooks.js';
import { Command } from './copy.js';

/** What went wrong: the sentence, the code, and the id to find it by in the server's logs. */
export function ErrorNote({ error }: { readonly error: Error }): ReactNode {
  const api = error instanceof ApiError ? error : null;
  return (
    <div className="note tone-red" role="alert">
      <span aria-hidden="true">✗ </span>
      <span className="sentence">{error.message}</span>
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

/** Nothing there: what it would be, and the command that makes one. */
export function Empty({ children, curl }: { readonly children: ReactNode; readonly curl?: string }): ReactNode {
  return (
    <div className="empty">
      <p>{children}</p>
      {curl !== undefined && <Command text={curl} />}
    </div>
  );
}

export const Loading = (): ReactNode => (
  <p className="loading" role="status">
    Loading…
  </p>
);

interface LoadedProps<T> {
  readonly read: Read<T>;
  /** What is read, for servers that do not have it: "Workers". */
  readonly what: string;
  readonly children: (data: T, text: string) => ReactNode;
}

/**
 * What was read, while it is read, and what went wrong. Old data stays in view, dimmed, while other data loads; a
 * server that does not know the route is told about quietly.
 */
export function Loaded<T>({ read, what, children }: LoadedProps<T>): ReactNode {
  const { answer, error, isPlaceholder } = read;
  if (error !== null && answer === undefined) {
    if (isMissing(error)) return <p className="quiet">{what}: this server does not offer it, or it is gone.</p>;
    return <ErrorNote error={error} />;
  }
  if (answer === undefined) return <Loading />;
  return (
    <>
      {error !== null && <ErrorNote error={error} />}
      <div className={isPlaceholder ? 'dimmed' : undefined} aria-busy={isPlaceholder}>
        {children(answer.data, answer.text)}
      </div>
    </>
  );
}
