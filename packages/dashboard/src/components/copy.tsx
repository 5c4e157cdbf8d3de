import { useEffect, useState, type ReactNode } from 'react';

const SAID_MS = 1500;

interface CopyProps {
  /** What goes to the clipboard, to the byte; a function, where it takes work to make. */
  readonly text: string | (() => string);
  readonly label?: string;
  readonly title?: string;
}

export function CopyButton({ text, label = 'Copy', title }: CopyProps): ReactNode {
  const [said, setSaid] = useState<'copied' | 'refused' | null>(null);
  useEffect(() => {
    if (said === null) return undefined;
    const timer = window.setTimeout(() => setSaid(null), SAID_MS);
    return () => window.clearTimeout(timer);
  }, [said]);
  const copy = (): void => {
    // Without a secure context there is no clipboard.
    const done = window.isSecureContext
      ? navigator.clipboard.writeText(typeof text === 'string' ? text : text())
      : Promise.reject(new Error('insecure'));
    done.then(
      () => setSaid('copied'),
      () => setSaid('refused'),
    );
  };
  const words = said === null ? label : said === 'copied' ? 'Copied' : 'Not allowed here';
  return (
    <button type="button" className="button small" onClick={copy} title={title}>
      <span aria-live="polite">{words}</span>
    </button>
  );
}

/** A command to paste, with its button. */
export function Command({ text }: { readonly text: string }): ReactNode {
  return (
    <div className="command">
      <pre tabIndex={0} aria-label="Command">
        {text}
      </pre>
      <CopyButton text={text} />
    </div>
  );
}
