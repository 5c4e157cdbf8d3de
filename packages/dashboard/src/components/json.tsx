import type { ReactNode } from 'react';
import { bytes } from '../lib/format.js';
import { CopyButton } from './copy.js';

/** JSON as it was sent, to the byte, with its size and a button that copies it. */
export function RawJson({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  return (
    <div className="json">
      <div className="json-bar">
        <span className="quiet figures">{bytes(new TextEncoder().encode(text).length)}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} aria-label={label}>
        {text}
      </pre>
    </div>
  );
}
