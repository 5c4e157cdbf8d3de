import { useEffect, useMemo, useRef, type PointerEvent, type ReactNode, type RefObject } from 'react';
import { LOOKS, type AnyState, type Tone } from '../../lib/states.js';
import { BOX, MARGIN, type Drawing } from './drawing.js';

interface GraphMapProps {
  readonly frame: RefObject<HTMLElement | null>;
  readonly drawing: Drawing;
  readonly states: ReadonlyMap<string, AnyState>;
  readonly zoom: number;
}

const HEIGHT = { least: 24, most: 72 } as const;

/**
 * The whole of a long graph, small, with the part that the frame shows; a click or a drag goes there. One path per
 * colour, however many steps there are. The frame itself is scrolled by keys.
 */
export function GraphMap({ frame, drawing, states, zoom }: GraphMapProps): ReactNode {
  const { width, height } = drawing;
  const map = useRef<SVGSVGElement>(null);
  const window = useRef<SVGRectElement>(null);
  const paths = useMemo(() => pathsOf(drawing, states), [drawing, states]);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const follow = (): void => {
      const { scrollLeft, scrollTop, clientWidth, clientHeight } = element;
      const place = { x: scrollLeft, y: scrollTop, width: clientWidth, height: clientHeight };
      const ends = { x: width, y: height, width, height };
      for (const name of ['x', 'y', 'width', 'height'] as const) {
        window.current?.setAttribute(name, String(Math.min(place[name] / zoom, ends[name])));
      }
    };
    follow();
    element.addEventListener('scroll', follow, { passive: true });
    const observer = new ResizeObserver(follow);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', follow);
      observer.disconnect();
    };
  }, [frame, zoom, width, height]);
  const go = (event: PointerEvent): void => {
    const room = map.current?.getBoundingClientRect();
    const element = frame.current;
    if (event.buttons !== 1 || room === undefined || element === null) return;
    const x = ((event.clientX - room.left) / room.width) * width;
    const y = ((event.clientY - room.top) / room.height) * height;
    element.scrollTo(x * zoom - element.clientWidth / 2, y * zoom - element.clientHeight / 2);
  };
  return (
    <svg
      ref={map}
      className="graph-map"
      viewBox={`0 0 ${width} ${height}`}
      // A chain of a thousand steps would be a hair's breadth high: its map is stretched.
      preserveAspectRatio="none"
      style={{ maxInlineSize: (HEIGHT.most * width) / height, ...heightOf(width, height) }}
      aria-hidden="true"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        go(event);
      }}
      onPointerMove={go}
    >
      {paths.map(([tone, path]) => (
        <path key={tone} className={`tone-${tone}`} d={path} />
      ))}
      <rect ref={window} className="graph-window" />
    </svg>
  );
}

/** As high as its width asks for, within bounds. */
const heightOf = (width: number, height: number): { readonly aspectRatio: string; minBlockSize: number } => ({
  aspectRatio: `${width} / ${height}`,
  minBlockSize: HEIGHT.least,
});

function pathsOf({ names, layout }: Drawing, states: ReadonlyMap<string, AnyState>): (readonly [Tone, string])[] {
  const paths = new Map<Tone, string>();
  for (const [index, name] of names.entries()) {
    const { x, y } = layout.nodes[index] ?? { x: 0, y: 0 };
    const { tone } = LOOKS[states.get(name) ?? 'pending'];
    const box = `M${Math.round(x + MARGIN)} ${Math.round(y + MARGIN)}h${BOX.width}v${BOX.height}h-${BOX.width}z`;
    paths.set(tone, (paths.get(tone) ?? '') + box);
  }
  return [...paths];
}
