import { lazy, Suspense, useEffect, useState, type ReactNode } from 'react';
import { Icon } from '../components/icon.js';
import { Link } from '../components/links.js';
import { Toasts } from '../components/toasts.js';
import { useWho } from '../session/session.js';
import { AccountMenu } from './account-menu.js';
import { Brand } from './brand.js';
import { useChord, useKeys } from '../lib/keys.js';
import { go, useView } from '../lib/routing.js';
import { MainMenu } from './menu.js';
import { ADMIN_HOME, isOperatorPage } from './nav.js';
import { ReadingAs } from './reading-as.js';
import { TroubleIcon } from './trouble.js';

/** Fetched when somebody opens them. */
const Palette = lazy(async () => ({ default: (await import('./palette.js')).Palette }));
const Help = lazy(async () => ({ default: (await import('./help.js')).Help }));

/** The frame around every page: menu, palette, account, messages. */
export function Shell({ children }: { readonly children: ReactNode }): ReactNode {
  const who = useWho();
  const [open, setOpen] = useState<'palette' | 'help' | null>(null);
  // The page that is shown, which lags behind the address while the file of the next one is fetched.
  const page = useView().pattern ?? '';
  const operator = who.kind === 'admin';
  useChord('k', () => setOpen('palette'));
  useKeys({
    '?': () => setOpen('help'),
    '/': () => document.querySelector<HTMLElement>('[data-filter]')?.focus(),
  });
  // An operator's credential belongs to no tenant: all it can read is the view across them. No other page is shown,
  // not for a moment: it would ask for what the credential does not open, and the answer would end the session.
  const isLost = operator && !isOperatorPage(page);
  useEffect(() => {
    if (isLost) go(ADMIN_HOME, { replace: true });
  }, [isLost]);
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="side">
        <Link to="/" className="brand" aria-label="Millrace: overview">
          <Brand /> <span className="brand-name">Millrace</span>
        </Link>
        <button type="button" className="button go-to" onClick={() => setOpen('palette')}>
          <Icon name="search" />
          <span className="go-to-words">Go to…</span> <kbd>⌘K</kbd>
        </button>
        <MainMenu kind={who.kind} page={page} />
        <div className="side-end">
          {who.dev && (
            <span
              className="tag"
              title="The server was started with --dev: any token is accepted, and this page signed in automatically."
            >
              development server: signed in automatically
            </span>
          )}
          <AccountMenu onHelp={() => setOpen('help')} />
        </div>
      </header>
      <ReadingAs />
      {!operator && <TroubleIcon key={who.tenant_id} />}
      <main id="main" tabIndex={-1}>
        {isLost ? null : children}
      </main>
      <Toasts />
      <Suspense>
        {open === 'palette' && <Palette onClose={() => setOpen(null)} />}
        {open === 'help' && <Help onClose={() => setOpen(null)} />}
      </Suspense>
    </div>
  );
}
