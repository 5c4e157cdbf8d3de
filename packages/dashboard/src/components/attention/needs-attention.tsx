import type { DeadLetterGroup } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useMayWrite } from '../../session/session.js';
import { BulkDialog } from '../dialogs/bulk.js';
import { Link, QueueLink } from '../links.js';
import { Loaded } from '../notes.js';
import { PauseSwitch } from '../pausing/pause-switch.js';
import { beginOf } from '../since.js';
import { AttentionCard } from './attention-card.js';
import { useAttention } from './use-attention.js';

/** What the tenant should look at. */
export function NeedsAttention({ span }: { readonly span: string }): ReactNode {
  const { attended, queues } = useAttention(span);
  const [replaying, setReplaying] = useState<DeadLetterGroup | null>(null);
  if (attended === undefined) {
    return (
      <Loaded read={queues} what="What needs attention">
        {() => null}
      </Loaded>
    );
  }
  return (
    <>
      <AttentionCard
        attended={attended}
        actions={(subject) =>
          subject.kind === 'dead letters' ? (
            <GroupActions group={subject.group} onReplay={setReplaying} />
          ) : (
            <>
              <QueueLink queue={subject.queue} className="button small">
                See
              </QueueLink>
              <PauseSwitch queue={subject.queue} isPaused={subject.kind === 'paused'} />
            </>
          )
        }
      />
      {replaying !== null && <Replay group={replaying} span={span} onClose={() => setReplaying(null)} />}
    </>
  );
}

interface GroupActionsProps {
  readonly group: DeadLetterGroup;
  readonly onReplay: (group: DeadLetterGroup) => void;
}

function GroupActions({ group, onReplay }: GroupActionsProps): ReactNode {
  const mayWrite = useMayWrite();
  return (
    <>
      <Link to="/dead-letters" search={{ fingerprint: group.fingerprint }} className="button small">
        See
      </Link>
      {mayWrite && (
        <button type="button" className="button small" onClick={() => onReplay(group)}>
          Replay…
        </button>
      )}
    </>
  );
}

interface ReplayProps {
  readonly group: DeadLetterGroup;
  readonly span: string;
  readonly onClose: () => void;
}

function Replay({ group: { task_name, message, fingerprint }, span, onClose }: ReplayProps): ReactNode {
  // One dialog asks about one thing: a span that moves on would make it count again and again.
  const [created_after] = useState(() => beginOf(span));
  return (
    <BulkDialog
      title={`Replay ${task_name}: ${message ?? 'no message'}`}
      verb="Replay"
      noun="dead letter"
      operation={{
        action: 'replay_dead_letters',
        filter: { fingerprint, replayed: false, ...(created_after !== undefined && { created_after }) },
      }}
      onClose={onClose}
    />
  );
}
