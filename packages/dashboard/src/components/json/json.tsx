import { useMemo, useState, type ReactNode } from 'react';
import { bytes } from '../../lib/format.js';
import { rootOf } from '../../lib/json/spans.js';
import { CopyButton } from '../copy.js';
import { JsonTree } from './json-tree.js';
import './json.css';

interface RawJsonProps {
  /** As it was sent. */
  readonly text: string;
  readonly label: string;
}

/** JSON as it was sent: as a tree that folds, or raw. Both show, and the button copies, the characters of the text. */
export function RawJson({ text, label }: RawJsonProps): ReactNode {
  const [isRaw, setRaw] = useState(false);
  const size = useMemo(() => new TextEncoder().encode(text).length, [text]);
  const root = useMemo(() => rootOf(text), [text]);
  const isTree = root !== null && (root.kind === 'object' || root.kind === 'array') && root.end - root.start > 2;
  return (
    <div className="json">
      <div className="json-bar">
        <span className="quiet figures">{bytes(size)}</span>
        {isTree && (
          <button type="button" className="button small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
            Raw
          </button>
        )}
        <CopyButton text={text} />
      </div>
      {isTree && !isRaw ? (
        <div className="json-tree mono" tabIndex={0} role="region" aria-label={label}>
          <JsonTree text={text} span={root} depth={0} />
        </div>
      ) : (
        <pre tabIndex={0} aria-label={label}>
          {text}
        </pre>
      )}
    </div>
  );
}
