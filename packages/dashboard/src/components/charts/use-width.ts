import { useLayoutEffect, useState, type RefObject } from 'react';

/** Until it is measured, which is before anything is painted. */
const FALLBACK_PX = 600;

/** How wide an element is. Plots are drawn in real pixels: scaled text would be too small here and too large there. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(FALLBACK_PX);
  useLayoutEffect(() => {
    const box = element.current;
    if (box === null) return undefined;
    const measure = (): void => setWidth(Math.max(200, Math.floor(box.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
