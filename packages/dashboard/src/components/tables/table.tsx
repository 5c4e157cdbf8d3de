import { memo, useEffect, useRef, useState, type ReactNode } from 'react';
import { useKeys } from '../../lib/keys.js';

/** The key of the column with the buttons; on a card they have a line of their own. */
const DO = 'do';

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** Figures stand to the right, in tabular digits. */
  readonly numeric?: boolean;
  /** Takes what room is left, and is cut. */
  readonly wide?: boolean;
  /** A few words, which stay on one line. */
  readonly brief?: boolean;
  /** Not shown as a card's line on narrow screens. */
  readonly hiddenOnCards?: boolean;
}

export interface Selection {
  readonly has: (id: string) => boolean;
  readonly toggle: (id: string) => void;
  readonly toggleAll: () => void;
  readonly all: boolean;
}

interface TableProps<T> {
  /** What the table lists, for those who do not see it. */
  readonly label: string;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
  readonly idOf: (row: T) => string;
  /** Enter on the row that the keys have reached. */
  readonly onOpen?: (row: T) => void;
  readonly selection?: Selection | undefined;
  /** A class for the row. */
  readonly rowClass?: (row: T) => string | undefined;
}

/** A dense table; under 640 pixels each row becomes a card. `j` and `k` walk, `x` selects, Enter opens. */
export function Table<T>(props: TableProps<T>): ReactNode {
  const { label, rows, columns, idOf, onOpen, selection, rowClass } = props;
  const [at, setAt] = useState<string | null>(null);
  const body = useRef<HTMLTableSectionElement>(null);
  const index = rows.findIndex((row) => idOf(row) === at);
  const walk = (step: number): void => {
    const row = rows[Math.min(Math.max(index + step, 0), rows.length - 1)];
    if (row !== undefined) setAt(idOf(row));
  };
  useKeys({
    j: () => walk(1),
    k: () => walk(index < 0 ? 1 : -1),
    ...(selection === undefined ? {} : { x: () => at !== null && selection.toggle(at) }),
    Enter: () => {
      const row = rows[index];
      if (row !== undefined) onOpen?.(row);
    },
  });
  useEffect(() => {
    body.current?.querySelector('[data-at]')?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <div className="table-frame">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {selection !== undefined && (
              <th className="check">
                <input type="checkbox" aria-label="Select all" checked={selection.all} onChange={selection.toggleAll} />
              </th>
            )}
            {columns.map(({ key, title, numeric }) => (
              <th key={key} className={numeric === true ? 'numeric' : undefined} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {rows.map((row) => {
            const id = idOf(row);
            return (
              <Row
                key={id}
                id={id}
                row={row}
                columns={columns as readonly Column<unknown>[]}
                isAt={id === at}
                className={rowClass?.(row)}
                isSelected={selection?.has(id)}
                toggle={selection?.toggle}
              />
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

interface RowProps {
  readonly id: string;
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
  /** The keys have reached it. */
  readonly isAt: boolean;
  readonly className: string | undefined;
  /** Undefined if rows cannot be selected. */
  readonly isSelected: boolean | undefined;
  readonly toggle: ((id: string) => void) | undefined;
}

/** Drawn again only if something of it has changed: what a table hands on must be the same objects as before. */
const Row = memo(function Row({ id, row, columns, isAt, className, isSelected, toggle }: RowProps): ReactNode {
  return (
    <tr className={className} data-at={isAt ? '' : undefined} data-row={id}>
      {isSelected !== undefined && (
        <td className="check">
          <input type="checkbox" aria-label={`Select ${id}`} checked={isSelected} onChange={() => toggle?.(id)} />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.key} data-title={column.title} className={classOf(column)}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
});

const classOf = <T,>({ key, numeric, wide, brief, hiddenOnCards }: Column<T>): string | undefined => {
  const kinds = [numeric && 'numeric', wide && 'wide', brief && 'brief', hiddenOnCards && 'no-card', key === DO && DO];
  const classes = kinds.filter(Boolean);
  return classes.length === 0 ? undefined : classes.join(' ');
};
