import { QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/hooks.js';
import { applyTheme } from './lib/preferences.js';
import { startRouting } from './lib/routing.js';
import { Outlet, ROUTES } from './router.js';
import { Shell } from './shell/shell.js';
import { RequireSignIn } from './shell/sign-in.js';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/charts.css';
import './styles/pages.css';

applyTheme();
// The file of the first page is fetched before it is known who asks: signing in takes time too.
startRouting(ROUTES);
// The document's address changes from page to page, and the browser would look for a relative icon anew each time.
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
if (icon !== null) icon.setAttribute('href', icon.href);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RequireSignIn>
        <Shell>
          <Outlet />
        </Shell>
      </RequireSignIn>
    </QueryClientProvider>
  </StrictMode>,
);
