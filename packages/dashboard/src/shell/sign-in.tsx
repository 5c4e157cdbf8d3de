import type { WhoAmI } from '@millrace/contract';
import { useEffect, useState, type ReactNode } from 'react';
import { ApiError, forgetAnswers, send } from '../api/client.js';
import { queryClient } from '../api/hooks.js';
import { TextField } from '../components/forms/fields.js';
import { useSubmit } from '../components/forms/use-submit.js';
import { ErrorNote } from '../components/notes.js';
import { setServerNow } from '../lib/clock.js';
import { Brand } from './brand.js';
import { DEV_TOKEN, isDevServer, session, signIn, signOut, useSession } from '../session/session.js';

/** Asks the server who the token is; signs in if it is somebody who can use the dashboard. */
export async function enter(token: string, as: string | null = null): Promise<void> {
  const answer = await send('GET', '/whoami', {}, { token, as });
  const who = (await answer.json()) as WhoAmI;
  if (who.kind === 'worker') {
    const words = 'this is the worker token; the dashboard needs the token of a tenant';
    throw new ApiError(words, 403, 'forbidden', null, null);
  }
  if (as !== null && who.tenant_id !== as) {
    throw new ApiError(`this server does not let you read as ${as}`, 403, 'forbidden', null, null);
  }
  setServerNow(who.now);
  const before = session.get();
  if (before.as !== as || before.who?.tenant_id !== who.tenant_id || before.who.kind !== who.kind) forget();
  signIn(token, who, as);
}

/** Where the tab was: an operator who read as a tenant goes on, or is at least let in as themselves. */
async function enterAgain(token: string): Promise<void> {
  const { as } = session.get();
  if (as === null) return enter(token);
  try {
    return await enter(token, as);
  } catch {
    return enter(token);
  }
}

/** What was read belongs to whoever was signed in. */
function forget(): void {
  forgetAnswers();
  queryClient.clear();
}

export function leave(): void {
  signOut();
  forget();
}

const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Shows its children to whoever is signed in, and asks everybody else for a credential. */
export function RequireSignIn({ children }: { readonly children: ReactNode }): ReactNode {
  const { token, who, expired } = useSession();
  const [failure, setFailure] = useState<Error | null>(null);
  // What the tab still has, or what a development server takes, is tried once, before anybody is asked.
  const [trying, setTrying] = useState(() => token ?? (isDevServer() ? DEV_TOKEN : null));
  useEffect(() => {
    if (trying === null) return;
    enterAgain(trying)
      .catch((error: unknown) => setFailure(toError(error)))
      .finally(() => setTrying(null));
  }, [trying]);
  if (who !== null) {
    return (
      <>
        {children}
        {expired && <SignInAgain />}
      </>
    );
  }
  return trying === null ? <SignIn failure={failure} /> : null;
}

function SignIn({ failure }: { readonly failure: Error | null }): ReactNode {
  useEffect(() => {
    document.title = 'Sign in · Millrace';
  }, []);
  return (
    <main className="sign-in">
      <h1 className="brand">
        <Brand /> Millrace
      </h1>
      <TokenForm failure={failure} />
    </main>
  );
}

/** The credential was refused while in use: a JWT that expired, a key that was withdrawn. The page behind stays. */
function SignInAgain(): ReactNode {
  return (
    <div className="sign-in-again" role="dialog" aria-modal="true" aria-label="Sign in again">
      <div className="card">
        <h2>Sign in again</h2>
        <p>The server no longer accepts the credential: it has expired or was revoked.</p>
        <TokenForm failure={null} />
        <button type="button" className="button" onClick={leave}>
          Sign out
        </button>
      </div>
    </div>
  );
}

function TokenForm({ failure }: { readonly failure: Error | null }): ReactNode {
  const [text, setText] = useState('');
  const token = text.trim().replace(/^bearer\s+/i, '');
  const { busy, error, onSubmit } = useSubmit(token !== '', () => enterAgain(token), failure);
  return (
    <form className="stack" onSubmit={onSubmit}>
      <TextField
        label="API key or JWT"
        type="password"
        autoComplete="off"
        spellCheck={false}
        autoFocus
        value={text}
        onChange={setText}
      />
      <button type="submit" className="button primary" disabled={busy || text.trim() === ''}>
        {busy ? 'Signing in…' : 'Sign in'}
      </button>
      {error !== null && <ErrorNote error={error} />}
      <p className="quiet">
        Kept in this tab until you close it or sign out. An operator signs in with the admin token.
      </p>
    </form>
  );
}
