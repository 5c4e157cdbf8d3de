import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import type { Change } from '../../api/client.js';
import { curlOf } from '../../api/curl.js';
import { Command } from '../copy.js';
import { ErrorNote } from '../notes.js';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly wide?: boolean;
}

/** A modal dialog. The browser keeps the focus inside and gives it back; Escape closes. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps): ReactNode {
  const element = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // The first field, or the button that changes nothing; by itself the browser would take the one that closes.
    dialog?.querySelector<HTMLElement>('input, textarea, select, footer .button')?.focus();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={wide ? 'dialog wide' : 'dialog'}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        if (event.target === element.current) onClose();
      }}
    >
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" className="button quiet" onClick={onClose} aria-label="Close">
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  readonly title: string;
  /** The verb on the button: "Cancel 312 jobs". */
  readonly verb: string;
  readonly danger?: boolean;
  /** What it does, in a sentence; names what it does it to. */
  readonly children?: ReactNode;
  /** The request, for its curl. */
  readonly request: Change;
  /** What has to be typed first: the number of things, above a hundred. */
  readonly typed?: string | undefined;
  /** Not yet: a dry run is still counting. */
  readonly waiting?: boolean;
  /** Does it; the dialog closes once it is done, and shows what went wrong otherwise. */
  readonly onConfirm: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly wide?: boolean;
}

/** Asks before something that cannot be undone. */
export function Confirm(props: ConfirmProps): ReactNode {
  const { title, verb, danger = false, children, request, typed, waiting = false, onConfirm, onClose, wide } = props;
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const field = useId();
  const mayGo = !busy && !waiting && (typed === undefined || text.replaceAll(/[\s,.]/g, '') === typed);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!mayGo) return;
    setBusy(true);
    setError(null);
    onConfirm().then(onClose, (reason: unknown) => {
      setBusy(false);
      setError(reason instanceof Error ? reason : new Error(String(reason)));
    });
  };
  return (
    <Dialog title={title} onClose={onClose} wide={wide ?? false}>
      <form onSubmit={submit} className="stack">
        {children}
        {typed !== undefined && (
          <label htmlFor={field}>
            <span>
              Type <b className="mono">{typed}</b> to confirm
            </span>
            <input
              id={field}
              className="input"
              value={text}
              onChange={(event) => setText(event.target.value)}
              autoComplete="off"
            />
          </label>
        )}
        {error !== null && <ErrorNote error={error} />}
        <CurlDetails request={request} />
        <footer>
          <button type="button" className="button" onClick={onClose}>
            Keep
          </button>
          <button type="submit" className={danger ? 'button danger' : 'button primary'} disabled={!mayGo}>
            {busy ? 'Working…' : verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** "As curl", folded. */
export function CurlDetails({ request }: { readonly request: Parameters<typeof curlOf>[0] }): ReactNode {
  return (
    <details className="curl">
      <summary>As curl</summary>
      <Command text={curlOf(request)} />
    </details>
  );
}
