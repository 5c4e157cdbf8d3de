import { useEffect, type ReactNode } from 'react';
import { Icon } from './icon.js';
import { createStore, useStore } from '../lib/store.js';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'plain' | 'red';
  /** "Undo", "Open". */
  readonly actions: readonly ToastAction[];
}

export interface ToastAction {
  readonly label: string;
  readonly run: () => void;
}

const toasts = createStore<readonly Toast[]>([]);
const SHOWN_MS = 8000;
const SHOWN_MAX = 4;
let next = 1;

const dismiss = (id: number): void => toasts.set(toasts.get().filter((toast) => toast.id !== id));

/** Says that something was done, and offers to undo it. */
export function say(text: string, actions: readonly ToastAction[] = []): void {
  toasts.set([...toasts.get(), { id: next++, text, tone: 'plain' as const, actions }].slice(-SHOWN_MAX));
}

/** Says that something did not work, where there is no dialog to say it in. */
export function sayError(error: unknown): void {
  const text = error instanceof Error ? error.message : String(error);
  toasts.set([...toasts.get(), { id: next++, text, tone: 'red' as const, actions: [] }].slice(-SHOWN_MAX));
}

export function Toasts(): ReactNode {
  return (
    <div className="toasts" role="status" aria-live="polite">
      {useStore(toasts).map((toast) => (
        <ToastView key={toast.id} toast={toast} />
      ))}
    </div>
  );
}

function ToastView({ toast }: { readonly toast: Toast }): ReactNode {
  useEffect(() => {
    const timer = window.setTimeout(() => dismiss(toast.id), SHOWN_MS);
    return () => window.clearTimeout(timer);
  }, [toast.id]);
  return (
    <div className={`toast tone-${toast.tone}`}>
      <span>{toast.text}</span>
      {toast.actions.map(({ label, run }) => (
        <button
          key={label}
          type="button"
          className="button small"
          onClick={() => {
            dismiss(toast.id);
            run();
          }}
        >
          {label}
        </button>
      ))}
      <button type="button" className="button small quiet" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
        <Icon name="close" size={14} />
      </button>
    </div>
  );
}
