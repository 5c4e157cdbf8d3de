import type { ReactNode } from 'react';
import type { Change } from '../../api/client.js';
import { curlOf } from '../../api/curl.js';
import { Command } from '../copy.js';
import { useSubmit } from '../forms/use-submit.js';
import { ErrorNote } from '../notes.js';
import { Dialog } from './dialog.js';

interface FormDialogProps {
  readonly title: string;
  /** What the button says, and what while it is being done. */
  readonly verb: string;
  readonly doing?: string;
  readonly danger?: boolean;
  /** The way out. */
  readonly closeWord?: string;
  /** The request, for its curl. */
  readonly request: Change;
  /** Whether the form is complete. */
  readonly mayGo: boolean;
  /** Sends it; whatever goes wrong is shown. */
  readonly onSubmit: () => Promise<unknown>;
  readonly onClose: () => void;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** A dialog that sends one request: its fields, what went wrong, the same as curl, and two buttons. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { title, verb, doing = 'Working…', danger = false, closeWord = 'Close', wide = false } = props;
  const { request, mayGo, onSubmit, onClose, children } = props;
  const submission = useSubmit(mayGo, onSubmit);
  return (
    <Dialog title={title} onClose={onClose} wide={wide}>
      <form className="stack" onSubmit={submission.onSubmit}>
        {children}
        {submission.error !== null && <ErrorNote error={submission.error} />}
        <CurlDetails request={request} />
        <footer>
          <button type="button" className="button" onClick={onClose}>
            {closeWord}
          </button>
          <button
            type="submit"
            className={danger ? 'button danger' : 'button primary'}
            disabled={!mayGo || submission.busy}
          >
            {submission.busy ? doing : verb}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** "As curl", folded. */
function CurlDetails({ request }: { readonly request: Change }): ReactNode {
  return (
    <details className="curl">
      <summary>As curl</summary>
      <Command text={curlOf(request)} />
    </details>
  );
}
