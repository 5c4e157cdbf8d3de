import { Link, Outlet, useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState, type ReactNode, type RefObject } from 'react';
import { Toasts } from '../components/toasts.js';
import { useWho } from '../session/session.js';
import { AccountMenu } from './account-menu.js';
import { Help } from './help.js';
import { useChord, useKeys } from '../lib/keys.js';
import { ADMIN_NAV, NAV } from './nav.js';
import { Palette } from './palette.js';

/**
 * On a narrow screen the menu is wider than its place; where one is must be in view. Measured within the next frame,
 * which lays the page out anyway: here it would be laid out once more, half drawn.
 */
function useCurrentInView(page: string): RefObject<HTMLElement | null> {
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const link = menu.current?.querySelector<HTMLElement>('[aria-current]');
      if (menu.current === null || !link) return;
      const [outer, inner] = [menu.current.getBoundingClientRect(), link.getBoundingClientRect()];
      menu.current.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
    });
    return () => cancelAnimationFrame(frame);
  }, [page]);
  return menu;
}

/** The frame around every page: menu, palette, account, messages. */
export function Shell(): ReactNode {
  const who = useWho();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  const navigate = useNavigate();
  // The page that is shown, which lags behind the address while the file of the next one is fetched.
  const page = useRouterState({ select: ({ matches }) => matches.at(-1)?.fullPath ?? '' });
  const operator = who.kind === 'admin';
  useChord('k', () => setOpen('palette'));
  useKeys({
    '?': () => setOpen('help'),
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
  });
  // An operator's credential belongs to no tenant: all it can read is the view across them. No other page is shown,
  // not for a moment: it would ask for what the credential does not open, and the answer would end the session.
  const isLost = operator && page !== ADMIN_NAV.to;
  useEffect(() => {
    if (isLost) void navigate({ to: '/admin', replace: true });
  }, [isLost, navigate]);
  const menu = useCurrentInView(page);
  const pages = [...(operator ? [] : NAV), ...(operator || who.kind === 'developer' ? [ADMIN_NAV] : [])];
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="top">
        <Link to="/" className="brand" aria-label="Millrace: overview">
          <span aria-hidden="true">✺</span> Millrace
        </Link>
        <nav aria-label="Pages" className="menu" ref={menu}>
          {pages.map(({ to, title }) => (
            <Link key={to} to={to} activeOptions={{ exact: to === '/', includeSearch: false }}>
              {title}
            </Link>
          ))}
        </nav>
        <div className="top-right">
          {who.dev && (
            <span
              className="tag"
              title="The server was started with --dev: any token is accepted, and this page signed in automatically."
            >
              development server: signed in automatically
            </span>
          )}
          <button type="button" className="button small" onClick={() => setOpen('palette')}>
            Go to… <kbd>⌘K</kbd>
          </button>
          <AccountMenu onHelp={() => setOpen('help')} />
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {isLost ? null : <Outlet />}
      </main>
      <Toasts />
      {open === 'palette' && <Palette onClose={() => setOpen(null)} />}
      {open === 'help' && <Help onClose={() => setOpen(null)} />}
    </>
  );
}
