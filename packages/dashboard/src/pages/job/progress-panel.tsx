import { useMemo, type ReactNode } from 'react';
import { RawJson } from '../../components/json/json.js';
import { Panel } from '../../components/page.js';
import { Progress } from '../../components/progress.js';
import { progressOf } from '../../lib/progress.js';

/** How far the handler says it is: a bar where it can be one, and whatever else it said. */
export function ProgressPanel({ text }: { readonly text: string }): ReactNode {
  const progress = useMemo(() => progressOf(text), [text]);
  if (progress === null) {
    return (
      <Panel title="Progress">
        <RawJson text={text} label="Progress" />
      </Panel>
    );
  }
  const { part, words, hasMore } = progress;
  return (
    <Panel title="Progress" aside={<span className="figures">{words}</span>}>
      <div className="body">
        <Progress part={part} label={`Progress: ${words}`} />
      </div>
      {hasMore && (
        <details className="folded">
          <summary className="quiet">All that was reported</summary>
          <RawJson text={text} label="Progress" />
        </details>
      )}
    </Panel>
  );
}
