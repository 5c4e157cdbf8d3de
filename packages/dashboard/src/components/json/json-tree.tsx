import { Fragment, useMemo, useState, type ReactNode } from 'react';
import { number } from '../../lib/format.js';
import { memberSpans, textOf, type JsonMember, type JsonSpan } from '../../lib/json/spans.js';

/** Members shown at first, and added by each "more". A payload may have a hundred thousand. */
const PORTION = 100;
/** Longer strings are cut until somebody wants all of them. */
const STRING_SHOWN = 1000;
/** What is unfolded at first: not too deep, and not too long. */
const OPEN_DEPTH = 4;
const OPEN_CHARS = 3000;
const INLINE_CHARS = 80;

interface NodeProps {
  readonly text: string;
  readonly span: JsonSpan;
  readonly depth: number;
  /** As written, with its quotes; null in arrays and for the whole. */
  readonly name?: string | null;
}

/** A value of the text. The members of a folded one are neither searched for nor drawn. */
export function JsonTree({ text, span, depth, name = null }: NodeProps): ReactNode {
  if (span.kind !== 'object' && span.kind !== 'array') {
    return (
      <div className="json-line">
        <Name name={name} />
        <Scalar text={textOf(text, span)} kind={span.kind} />
      </div>
    );
  }
  if (depth > 0 && isShort(text, span)) {
    return (
      <div className="json-line">
        <Name name={name} />
        <Inline text={text} span={span} />
      </div>
    );
  }
  return <Container text={text} span={span} depth={depth} name={name} />;
}

/** Fits on a line, and has nothing to fold. */
const isShort = (text: string, span: JsonSpan): boolean =>
  span.end - span.start <= INLINE_CHARS &&
  [...memberSpans(text, span)].every(({ value: { kind } }) => kind !== 'object' && kind !== 'array');

function Inline({ text, span }: { readonly text: string; readonly span: JsonSpan }): ReactNode {
  const values = [...memberSpans(text, span)].map(({ value }) => value);
  const last = values.at(-1)?.end ?? span.start;
  return (
    <>
      {values.map((value, index) => (
        <Fragment key={value.start}>
          <span className="json-key">{text.slice(values[index - 1]?.end ?? span.start, value.start)}</span>
          <span className={`json-${value.kind}`}>{textOf(text, value)}</span>
        </Fragment>
      ))}
      {text.slice(last, span.end)}
    </>
  );
}

const Name = ({ name }: { readonly name: string | null }): ReactNode =>
  name === null ? null : (
    <>
      <span className="json-key">{name}</span>:{' '}
    </>
  );

function Scalar({ text, kind }: { readonly text: string; readonly kind: string }): ReactNode {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > STRING_SHOWN;
  return (
    <>
      <span className={`json-${kind}`}>{isCut ? text.slice(0, STRING_SHOWN) : text}</span>
      {isCut && (
        <button type="button" className="button small" onClick={() => setWhole(true)}>
          … all {number(text.length)} characters
        </button>
      )}
    </>
  );
}

function Container({ text, span, depth, name = null }: NodeProps): ReactNode {
  const length = span.end - span.start;
  const [isOpen, setOpen] = useState(depth === 0 || (depth < OPEN_DEPTH && length < OPEN_CHARS));
  const [open, close] = span.kind === 'object' ? ['{', '}'] : ['[', ']'];
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="json-line">
        <Name name={name} />
        {open}
        {!isOpen && (
          <span className="quiet">
            {' '}
            … {close} {number(length)} characters
          </span>
        )}
      </summary>
      {isOpen && (
        <>
          <Members text={text} span={span} depth={depth} />
          <div className="json-line">{close}</div>
        </>
      )}
    </details>
  );
}

function Members({ text, span, depth }: NodeProps): ReactNode {
  const [shown, setShown] = useState(PORTION);
  const [members, hasMore] = useMemo(() => take(memberSpans(text, span), shown), [text, span, shown]);
  return (
    <div className="json-members">
      {members.map(({ key, value }) => (
        <JsonTree key={value.start} text={text} span={value} depth={depth + 1} name={key} />
      ))}
      {hasMore && (
        <button type="button" className="button small" onClick={() => setShown(shown + PORTION)}>
          {PORTION} more
        </button>
      )}
    </div>
  );
}

function take(members: Generator<JsonMember>, count: number): readonly [JsonMember[], boolean] {
  const taken: JsonMember[] = [];
  for (const member of members) {
    if (taken.length === count) return [taken, true];
    taken.push(member);
  }
  return [taken, false];
}
