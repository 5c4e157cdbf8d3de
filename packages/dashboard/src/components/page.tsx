import { useEffect, type ReactNode } from 'react';

interface PageProps {
  readonly title: string;
  /** Beside the title: an id, a state. */
  readonly aside?: ReactNode;
  /** Buttons, on the right. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The frame of each page: its heading, what can be done, and the name of the tab. */
export function Page({ title, aside, actions, children }: PageProps): ReactNode {
  useEffect(() => {
    document.title = `${title} · Millrace`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <h1>{title}</h1>
        {aside}
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface PanelProps {
  readonly title: ReactNode;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

/** A titled part of a page. */
export function Panel({ title, aside, children }: PanelProps): ReactNode {
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
        {aside !== undefined && <div className="aside">{aside}</div>}
      </header>
      {children}
    </section>
  );
}

/** A list of names and values. */
export function Facts({ facts }: { readonly facts: readonly (readonly [string, ReactNode])[] }): ReactNode {
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
