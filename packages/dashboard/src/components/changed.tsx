import { useEffect, useRef, useState, type ReactNode } from 'react';

interface ChangedProps {
  readonly value: string;
  readonly className?: string;
}

/** A value that says so once when it has become another: the only motion of a page that is left open. */
export function Changed({ value, className = '' }: ChangedProps): ReactNode {
  const before = useRef(value);
  const [times, setTimes] = useState(0);
  useEffect(() => {
    if (before.current === value) return;
    before.current = value;
    setTimes((n) => n + 1);
  }, [value]);
  return (
    <span key={times} className={times === 0 ? className : `${className} changed`}>
      {value}
    </span>
  );
}
