import { useState, type FormEvent } from 'react';

export interface Submission {
  /** It is under way; and it stays so once it has succeeded, since the form then goes away. */
  readonly busy: boolean;
  /** Why the last try failed. */
  readonly error: Error | null;
  readonly onSubmit: (event: FormEvent) => void;
}

/** Sends a form: once at a time, and only if it may be sent. What goes wrong is kept to be shown. */
export function useSubmit(mayGo: boolean, send: () => Promise<unknown>, failure: Error | null = null): Submission {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(failure);
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault();
    if (!mayGo || busy) return;
    setBusy(true);
    setError(null);
    send().catch((reason: unknown) => {
      setBusy(false);
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    });
  };
  return { busy, error, onSubmit };
}
