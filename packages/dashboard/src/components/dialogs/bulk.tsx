import type { CreateOperation, DryRun, OperationCreated } from '@millrace/contract';
import { useEffect, useMemo, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { atLeast, cutDown, number, plural } from '../../lib/format.js';
import { Confirm } from './confirm.js';
import { ErrorNote, Loading } from '../notes.js';
import { say } from '../toasts.js';
import { Time } from '../time.js';
import { go } from '../../lib/routing.js';
import { newUuid } from '../../lib/uuid.js';

/** Above this, the number has to be typed. */
const TYPE_ABOVE = 100;

type Bulk = Pick<CreateOperation, 'action' | 'filter' | 'ids'>;

/** What an operation would work on; null while that is being counted, or if there is nothing to ask. */
export function useDryRun(operation: Bulk | null): DryRun | Error | null {
  const [dry, setDry] = useState<{ readonly of: string; readonly answer: DryRun | Error | null } | null>(null);
  const asked = operation === null ? null : JSON.stringify(operation);
  useEffect(() => {
    if (asked === null) return undefined;
    let current = true;
    const say = (answer: DryRun | Error | null): void => {
      if (current) setDry({ of: asked, answer });
    };
    const body = JSON.stringify({ ...(JSON.parse(asked) as object), dry_run: true });
    change<DryRun>({ method: 'POST', path: '/operations', body }).then(say, (error: unknown) =>
      say(error instanceof Error ? error : new Error(String(error))),
    );
    return () => {
      current = false;
    };
  }, [asked]);
  return dry !== null && dry.of === asked ? dry.answer : null;
}

interface BulkProps {
  readonly title: string;
  /** "Cancel", "Replay". */
  readonly verb: string;
  /** "job", "dead letter". */
  readonly noun: string;
  readonly danger?: boolean;
  /** What is to be done with what: an action with ids or a filter. */
  readonly operation: Bulk;
  /** Stays on the page instead of going to the operation. */
  readonly stay?: boolean;
  readonly onClose: () => void;
  readonly onDone?: () => void;
}

/** Does something to all that matches: after a dry run that says how many, and the number typed above a hundred. */
export function BulkDialog(props: BulkProps): ReactNode {
  const { title, verb, noun, danger = false, operation, stay = false, onClose, onDone } = props;
  const dry = useDryRun(operation);
  const [key] = useState(newUuid);
  const asked = JSON.stringify(operation);
  const request = useMemo<Change>(
    () => ({ method: 'POST', path: '/operations', body: asked, idempotencyKey: key }),
    [asked, key],
  );
  const matched = dry === null || dry instanceof Error ? null : dry.matched;
  const confirm = async (): Promise<void> => {
    const created = await change<OperationCreated>(request);
    const id = created?.operation_id ?? '';
    const open = (): void => go(`/operations/${id}`);
    onDone?.();
    await refresh();
    if (!stay) open();
    else say(`${title}: started`, [{ label: 'Follow', run: open }]);
  };
  return (
    <Confirm
      title={title}
      verb={
        matched === null
          ? verb
          : isUnknown(matched)
            ? `${verb} all that match`
            : `${verb} ${matched.exact ? plural(matched.n, noun) : `${atLeast(matched)} ${noun}s`}`
      }
      danger={danger}
      request={request}
      waiting={matched === null || (matched.n === 0 && matched.exact)}
      typed={matched === null ? undefined : toType(matched)}
      onConfirm={confirm}
      onClose={onClose}
      wide
    >
      <DryRunView dry={dry} noun={noun} />
    </Confirm>
  );
}

/** The server counts for a bounded time, and may not have come to the first match in it. */
export const isUnknown = ({ n, exact }: DryRun['matched']): boolean => n === 0 && !exact;

const toType = (matched: DryRun['matched']): string | undefined =>
  isUnknown(matched)
    ? 'all'
    : matched.n > TYPE_ABOVE
      ? String(matched.exact ? matched.n : cutDown(matched.n))
      : undefined;

function DryRunView({ dry, noun }: { readonly dry: DryRun | Error | null; readonly noun: string }): ReactNode {
  if (dry === null) return <Loading />;
  if (dry instanceof Error) return <ErrorNote error={dry} />;
  if (isUnknown(dry.matched)) {
    return (
      <p>
        The server ran out of time before it found the first match, so the number of matching {noun}s is unknown. This
        cannot be undone. Those created from now on are not affected.
      </p>
    );
  }
  if (dry.matched.n === 0) return <p>No {noun} matches any more.</p>;
  return (
    <div className="stack">
      <p className="sentence">
        <b className="figures">{atLeast(dry.matched)}</b> {dry.matched.n === 1 ? `${noun} matches` : `${noun}s match`}.
        This cannot be undone. Those created from now on are not affected.
      </p>
      <ul className="sample" aria-label="The first that match">
        {dry.sample.map(({ id, task_name, queue_name, created_at }) => (
          <li key={id}>
            <span className="cut">{task_name}</span>
            <span className="quiet cut">{queue_name}</span>
            <Time at={created_at} />
          </li>
        ))}
        {dry.matched.n > dry.sample.length && (
          <li className="quiet">
            … and {dry.matched.exact ? `${number(dry.matched.n - dry.sample.length)} more` : 'more'}
          </li>
        )}
      </ul>
    </div>
  );
}
