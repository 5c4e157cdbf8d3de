import { useState, type ReactNode } from 'react';
import type { Change } from '../../api/client.js';
import { TextField } from '../forms/fields.js';
import { FormDialog } from './form-dialog.js';

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
  const { children, typed, waiting = false, onConfirm, onClose, ...dialog } = props;
  const [text, setText] = useState('');
  const mayGo = !waiting && (typed === undefined || text.replaceAll(/[\s,.]/g, '') === typed);
  const confirm = async (): Promise<void> => {
    await onConfirm();
    onClose();
  };
  return (
    <FormDialog {...dialog} closeWord={wayOut(props.verb)} mayGo={mayGo} onSubmit={confirm} onClose={onClose}>
      {children}
      {typed !== undefined && (
        <TextField
          label={
            <span>
              Type <b className="mono">{typed}</b> to confirm
            </span>
          }
          value={text}
          onChange={setText}
          autoComplete="off"
        />
      )}
    </FormDialog>
  );
}

/** Beside a button that cancels something, "Cancel" would be read as the same. */
const wayOut = (verb: string): string => (/^cancel/i.test(verb) ? 'Close' : 'Cancel');
