import type { WhoAmI } from '@millrace/contract';
import { useEffect, useId, useState, type FormEvent, type ReactNode } from 'react';
import { ApiError, forgetAnswers, get } from '../api/client.js';
import { queryClient } from '../api/hooks.js';
import { ErrorNote } from '../components/notes.js';
import { setServerNow } from '../lib/clock.js';
import { DEV_TOKEN, isDevServer, session, signIn, signOut, useSession } from './session.js';

/** Asks the server who the token is; signs in if it is somebody who can use the dashboard. */
export async function enter(token: string): Promise<void> {
  const before = session.get();
  session.set({ token, who: null, expired: false });
  try {
    const { data: who } = await get<WhoAmI>('/whoami');
    if (who.kind === 'worker') {
      throw new ApiError(
        'this is the worker token; the dashboard needs the token of a tenant',
        403,
        'forbidden',
        null,
        null,
      );
    }
    setServerNow(who.now);
    const changed = before.who?.tenant_id !== who.tenant_id || before.who?.kind !== who.kind;
    signIn(token, who);
    if (changed) forget();
  } catch (error) {
    session.set(before.who === null ? { token: null, who: null, expired: false } : before);
    throw error;
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

/** Shows its children to whoever is signed in, and asks everybody else for a credential. */
export function Gate({ children }: { readonly children: ReactNode }): ReactNode {
  const { token, who, expired } = useSession();
  const [failure, setFailure] = useState<Error | null>(null);
  const [tried, setTried] = useState(false);
  const candidate = token ?? (isDevServer() ? DEV_TOKEN : null);
  useEffect(() => {
    if (who !== null || tried || candidate === null) return;
    setTried(true);
    enter(candidate).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 401) signOut();
      setFailure(error instanceof Error ? error : new Error(String(error)));
    });
  }, [who, tried, candidate]);
  if (who !== null) {
    return (
      <>
        {children}
        {expired && <SignInAgain />}
      </>
    );
  }
  if (candidate !== null && failure === null && !(tried && token === null && !isDevServer())) return null;
  return <SignIn failure={failure} />;
}

function SignIn({ failure }: { readonly failure: Error | null }): ReactNode {
  useEffect(() => {
    document.title = 'Sign in · Millrace';
  }, []);
  return (
    <main className="sign-in">
      <h1>Millrace</h1>
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
        <p>The server no longer accepts the credential: it has expired or was withdrawn.</p>
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
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(failure);
  const field = useId();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const token = text.trim().replace(/^bearer\s+/i, '');
    if (token === '' || busy) return;
    setBusy(true);
    setError(null);
    enter(token).catch((reason: unknown) => {
      setBusy(false);
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <label htmlFor={field}>
        API key or JWT
        <input
          id={field}
          className="input"
          type="password"
          autoComplete="off"
          spellCheck={false}
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </label>
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
