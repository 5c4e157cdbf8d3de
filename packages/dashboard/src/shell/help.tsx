import type { ReactNode } from 'react';
import { Dialog } from '../components/dialogs/dialog.js';

const KEYS: readonly (readonly [string, string])[] = [
  ['⌘K or Ctrl K', 'go to a page, queue, task or schedule, or to whatever has the id or key you paste'],
  ['/', 'to the filter'],
  ['j, k', 'down and up the list'],
  ['x', 'select the row'],
  ['Enter', 'open the row'],
  ['Escape', 'close what is open'],
  ['?', 'this help'],
];

export function Help({ onClose }: { readonly onClose: () => void }): ReactNode {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="facts keys">
        {KEYS.map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
