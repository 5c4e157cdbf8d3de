import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/hooks.js';
import { applyTheme } from './lib/preferences.js';
import { beginFirstPage, router } from './router.js';
import { Gate } from './shell/sign-in.js';
import './styles/base.css';
import './styles/shell.css';
import './styles/components.css';
import './styles/charts.css';
import './styles/pages.css';

applyTheme();
beginFirstPage();
// The document's address changes from page to page, and the browser would look for a relative icon anew each time.
const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
if (icon !== null) icon.setAttribute('href', icon.href);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no #root');
createRoot(root).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <Gate>
        <RouterProvider router={router} />
      </Gate>
    </QueryClientProvider>
  </StrictMode>,
);
