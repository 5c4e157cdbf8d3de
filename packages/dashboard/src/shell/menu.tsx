import { useEffect, useRef, type ReactNode, type RefObject } from 'react';
import { Icon } from '../components/icon.js';
import { navOf } from './nav.js';
import { useTrouble } from './trouble.js';
import { Link } from '../components/links.js';

/**
 * On a narrow screen the menu is wider than its place; where one is must be in view. Measured within the next frame,
 * which lays the page out anyway: here it would be laid out once more, half drawn.
 */
function useCurrentInView(page: string): RefObject<HTMLElement | null> {
  const menu = useRef<HTMLElement>(null);
  useEffect(() => {
    const frame = requestAnimationFrame(() => {
      const link = menu.current?.querySelector<HTMLElement>('[aria-current]');
      if (menu.current === null || !link) return;
      const [outer, inner] = [menu.current.getBoundingClientRect(), link.getBoundingClientRect()];
      menu.current.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
    });
    return () => cancelAnimationFrame(frame);
  }, [page]);
  return menu;
}

interface MenuProps {
  readonly kind: string;
  /** The page in view. */
  readonly page: string;
}

/** Whether a page is that of the entry, or one of its things. */
const isIn = (page: string, to: string): boolean => page === to || (to !== '/' && page.startsWith(`${to}/`));

/** The pages: the main ones, and the rest in groups. */
export function MainMenu({ kind, page }: MenuProps): ReactNode {
  const menu = useCurrentInView(page);
  const hasTrouble = useTrouble();
  return (
    <nav aria-label="Pages" className="menu" ref={menu}>
      {navOf(kind).map(({ title, entries }) => (
        <div key={title ?? ''} className="menu-group" {...(title !== null && { role: 'group', 'aria-label': title })}>
          {title !== null && (
            <span className="menu-title" aria-hidden="true">
              {title}
            </span>
          )}
          {entries.map(({ to, title: name, icon }) => (
            <Link
              key={to}
              to={to}
              title={name}
              {...(isIn(page, to) && { className: 'active', 'aria-current': 'page' })}
            >
              <Icon name={icon} />
              <span className="menu-name">{name}</span>
              {to === '/' && hasTrouble && (
                <span className="menu-mark">
                  <span className="visually-hidden">(something needs attention)</span>
                </span>
              )}
            </Link>
          ))}
        </div>
      ))}
    </nav>
  );
}
