import { useEffect, type RefObject } from 'react';

/** Moves beyond this many pixels are a drag, below it a click. */
const SLACK = 4;

/** Lets a mouse drag what is inside a scrolled frame. Fingers scroll it by themselves. */
export function useDragScroll(frame: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    let from: { x: number; y: number; left: number; top: number } | null = null;
    let dragged = false;
    const onDown = (event: PointerEvent): void => {
      if (event.pointerType !== 'mouse' || event.button !== 0) return;
      from = { x: event.clientX, y: event.clientY, left: element.scrollLeft, top: element.scrollTop };
      dragged = false;
    };
    const onMove = (event: PointerEvent): void => {
      if (from === null) return;
      const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
      if (!dragged && Math.hypot(dx, dy) < SLACK) return;
      dragged = true;
      element.scrollTo(from.left - dx, from.top - dy);
    };
    const onUp = (): void => {
      from = null;
    };
    const onClick = (event: MouseEvent): void => {
      if (dragged) event.stopPropagation();
      dragged = false;
    };
    element.addEventListener('pointerdown', onDown);
    window.addEventListener('pointermove', onMove);
    window.addEventListener('pointerup', onUp);
    element.addEventListener('click', onClick, { capture: true });
    return () => {
      element.removeEventListener('pointerdown', onDown);
      window.removeEventListener('pointermove', onMove);
      window.removeEventListener('pointerup', onUp);
      element.removeEventListener('click', onClick, { capture: true });
    };
  }, [frame]);
}
