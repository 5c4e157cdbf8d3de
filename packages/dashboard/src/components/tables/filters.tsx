import { useEffect, useId, useState, type ReactNode } from 'react';
import { useAddress } from '../../lib/routing.js';

/** Filters write into the address. Another filter begins at the first page, so the cursor goes. */
export function useFilter(name: string): readonly [string, (value: string) => void] {
  const [address, setAddress] = useAddress();
  const set = (value: string): void => setAddress({ [name]: value === '' ? undefined : value, cursor: undefined });
  return [address[name] ?? '', set];
}

interface SelectFilterProps {
  readonly name: string;
  readonly label: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  /** What the empty choice says: "any state". */
  readonly any: string;
}

export function SelectFilter({ name, label, options, any }: SelectFilterProps): ReactNode {
  const [value, set] = useFilter(name);
  // A value that is not among the options came with the address; it is shown, not dropped.
  const unknown = value !== '' && !options.some(([option]) => option === value);
  return (
    <select className="input" aria-label={label} value={value} onChange={(event) => set(event.target.value)}>
      <option value="">{any}</option>
      {unknown && <option value={value}>{value}</option>}
      {options.map(([option, words]) => (
        <option key={option} value={option}>
          {words}
        </option>
      ))}
    </select>
  );
}

interface SearchFieldProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  /** With Enter, or when the field is left: what was entered, if it is something else. */
  readonly onEnter: (value: string) => void;
  readonly suggestions?: readonly string[] | undefined;
  /** The field that `/` goes to; one per page. */
  readonly first?: boolean | undefined;
}

/** A field to search by, whose text applies with Enter or when the field is left. */
export function SearchField({ label, placeholder, value, onEnter, suggestions, first }: SearchFieldProps): ReactNode {
  const [text, setText] = useState(value);
  const list = useId();
  useEffect(() => setText(value), [value]);
  const apply = (): void => {
    const entered = text.trim();
    if (entered !== value) onEnter(entered);
  };
  return (
    <>
      <input
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={text}
        list={suggestions === undefined ? undefined : list}
        data-filter={first === true ? '' : undefined}
        onChange={(event) => setText(event.target.value)}
        onBlur={apply}
        onKeyDown={(event) => {
          if (event.key === 'Enter') apply();
        }}
        autoComplete="off"
        spellCheck={false}
      />
      {suggestions !== undefined && (
        <datalist id={list}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
    </>
  );
}

interface TextFilterProps extends Omit<SearchFieldProps, 'value' | 'onEnter'> {
  /** In the address. */
  readonly name: string;
  /** Instead of the address: what to do with what was entered. */
  readonly onSubmit?: (value: string) => void;
}

/** A text of the address to filter by. */
export function TextFilter({ name, onSubmit, ...field }: TextFilterProps): ReactNode {
  const [value, set] = useFilter(name);
  return <SearchField {...field} value={value} onEnter={onSubmit ?? set} />;
}

const SPANS: readonly (readonly [string, string, number])[] = [
  ['15m', 'last 15 min', 15 * 60_000],
  ['1h', 'last hour', 3_600_000],
  ['24h', 'last 24 h', 86_400_000],
  ['7d', 'last 7 days', 7 * 86_400_000],
  ['30d', 'last 30 days', 30 * 86_400_000],
];

export const spanMs = (name: string | undefined): number | undefined => SPANS.find(([span]) => span === name)?.[2];

export const spanWords = (name: string): string => SPANS.find(([span]) => span === name)?.[1] ?? name;

/** "since": a span until now, by name, so that a bookmarked address stays about the present. */
export const SpanFilter = ({ name = 'since', any = 'any time' }: { name?: string; any?: string }): ReactNode => (
  <SelectFilter name={name} label="Created" any={any} options={SPANS.map(([span, words]) => [span, words] as const)} />
);
