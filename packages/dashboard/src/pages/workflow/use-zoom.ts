import { useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { Point } from '../../lib/graph/layout.js';
import { BOX, middleOf, type Drawing } from './drawing.js';

const ZOOMS = [0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5] as const;
const LEAST_ZOOM = 0.02;
/** Names can be read from here on: a graph that fits only below it opens at its point of interest instead. */
const READABLE_ZOOM = 0.55;
const HEIGHT = { least: 144, most: 600, ofWindow: 0.5 } as const;

export interface Zoom {
  readonly zoom: number;
  /** How high the frame is to be. */
  readonly height: number;
  /** It cannot be seen whole and be read: it is worth a map. */
  readonly isLong: boolean;
  readonly fit: () => void;
  readonly larger: () => void;
  readonly smaller: () => void;
}

/** Where the frame stands over the drawing: whole and centred if it can be read then, at the step to look at if not. */
export function useZoom(
  frame: RefObject<HTMLElement | null>,
  drawing: Drawing,
  /** The step to look at: scrolled to at first, and whenever it is another one that is out of sight. */
  at: string | undefined,
): Zoom {
  const room = useRoom(frame);
  const [chosen, setChosen] = useState<number | null>(null);
  const whole = Math.max(LEAST_ZOOM, Math.min(1, room.width / drawing.width, room.height / drawing.height));
  const isLong = whole < READABLE_ZOOM;
  const open = isLong ? READABLE_ZOOM : whole;
  const zoom = chosen ?? open;
  const height = Math.min(room.height, Math.max(HEIGHT.least, Math.ceil(drawing.height * open) + (isLong ? 16 : 0)));

  // What is in the middle stays there when the zoom changes.
  const middle = useRef<Point | null>(null);
  const change = (next: number): void => {
    middle.current = frame.current === null ? null : middleOfFrame(frame.current, zoom);
    setChosen(next);
  };
  useLayoutEffect(() => {
    if (frame.current !== null && middle.current !== null) scrollTo(frame.current, middle.current, zoom);
    middle.current = null;
  }, [frame, zoom]);

  const seen = useRef<string | null>(null);
  useLayoutEffect(() => {
    if (frame.current === null || room.width === 0 || seen.current === (at ?? '')) return;
    const point = middleOf(drawing, at);
    if (seen.current === null || !isInSight(frame.current, point, zoom)) scrollTo(frame.current, point, zoom);
    seen.current = at ?? '';
  }, [frame, drawing, at, zoom, room.width]);

  return {
    zoom,
    height,
    isLong,
    fit: () => change(whole),
    larger: () => change(ZOOMS.find((step) => step > zoom) ?? zoom),
    smaller: () => change(ZOOMS.findLast((step) => step < zoom) ?? LEAST_ZOOM),
  };
}

interface Room {
  /** 0 until it has been measured. */
  readonly width: number;
  readonly height: number;
}

/** How much room there is for the frame: as wide as what it is in, as high as leaves room for the rest of the page. */
function useRoom(frame: RefObject<HTMLElement | null>): Room {
  const [room, setRoom] = useState<Room>({ width: 0, height: HEIGHT.most });
  useLayoutEffect(() => {
    const around = frame.current?.parentElement;
    if (around === null || around === undefined) return undefined;
    const measure = (): void =>
      setRoom((before) => {
        const width = around.clientWidth;
        const height = Math.min(HEIGHT.most, Math.max(HEIGHT.least, Math.floor(innerHeight * HEIGHT.ofWindow)));
        return before.width === width && before.height === height ? before : { width, height };
      });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(around);
    return () => observer.disconnect();
  }, [frame]);
  return room;
}

const middleOfFrame = ({ scrollLeft, scrollTop, clientWidth, clientHeight }: HTMLElement, zoom: number): Point => ({
  x: (scrollLeft + clientWidth / 2) / zoom,
  y: (scrollTop + clientHeight / 2) / zoom,
});

const scrollTo = (frame: HTMLElement, { x, y }: Point, zoom: number): void =>
  frame.scrollTo(x * zoom - frame.clientWidth / 2, y * zoom - frame.clientHeight / 2);

function isInSight(frame: HTMLElement, { x, y }: Point, zoom: number): boolean {
  const half = { x: (BOX.width / 2) * zoom, y: (BOX.height / 2) * zoom };
  const [left, top] = [x * zoom - frame.scrollLeft, y * zoom - frame.scrollTop];
  const isBetween = (value: number, margin: number, end: number): boolean => value >= margin && value <= end - margin;
  return isBetween(left, half.x, frame.clientWidth) && isBetween(top, half.y, frame.clientHeight);
}
