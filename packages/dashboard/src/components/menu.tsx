import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Icon, type IconName } from './icon.js';
import './menu.css';

interface MenuProps {
  readonly icon: IconName;
  readonly label: string;
  /** For those who do not see what it holds. */
  readonly title?: string | undefined;
  /** What it holds; `close` is for what is done with one click. */
  readonly children: (close: () => void) => ReactNode;
}

/** A button that unfolds something below it, until Escape or a click elsewhere. */
export function Menu({ icon, label, title, children }: MenuProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isOpen) return undefined;
    const onPointer = (event: PointerEvent): void => {
      if (element.current?.contains(event.target as Node) !== true) setOpen(false);
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 'Escape') return;
      setOpen(false);
      element.current?.querySelector('summary')?.focus();
    };
    document.addEventListener('pointerdown', onPointer);
    document.addEventListener('keydown', onKey);
    return () => {
      document.removeEventListener('pointerdown', onPointer);
      document.removeEventListener('keydown', onKey);
    };
  }, [isOpen]);
  return (
    <details className="drop" ref={element} open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="button small" title={title}>
        <Icon name={icon} size={14} /> {label} <Icon name="down" size={12} />
      </summary>
      {isOpen && <div className="drop-panel">{children(() => setOpen(false))}</div>}
    </details>
  );
}
