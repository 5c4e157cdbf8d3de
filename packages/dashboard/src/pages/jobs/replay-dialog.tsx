import type { DeadLetterPage } from '@millrace/contract';
import { useEffect, useState, type ReactNode } from 'react';
import { get, withQuery } from '../../api/client.js';
import { BulkDialog } from '../../components/dialogs/bulk.js';
import { Dialog } from '../../components/dialogs/dialog.js';
import { ErrorNote, Loading } from '../../components/notes.js';

/** A browser opens six connections to a server; the page needs some of them. */
const AT_ONCE = 4;

interface ReplayDialogProps {
  readonly title: string;
  readonly verb: string;
  readonly noun: string;
  readonly danger: boolean;
  readonly jobIds: readonly string[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Replays the dead letters of the jobs that have one: a job that did not fail has none, and is left alone. */
export function ReplayDialog({ jobIds, ...dialog }: ReplayDialogProps): ReactNode {
  const found = useLetters(jobIds);
  if (found === null || found instanceof Error || found.length === 0) {
    return (
      <Dialog title={dialog.title} onClose={dialog.onClose} wide>
        {found === null ? (
          <Loading />
        ) : found instanceof Error ? (
          <ErrorNote error={found} />
        ) : (
          <p>None of these jobs has an open dead letter.</p>
        )}
      </Dialog>
    );
  }
  return <BulkDialog {...dialog} operation={{ action: 'replay_dead_letters', ids: found }} />;
}

/** The ids of the dead letters that can be replayed; null while they are looked for. */
function useLetters(jobIds: readonly string[]): string[] | Error | null {
  const [found, setFound] = useState<string[] | Error | null>(null);
  const asked = jobIds.join();
  useEffect(() => {
    const stop = new AbortController();
    lettersOf(asked.split(','), stop.signal).then(setFound, (error: unknown) => {
      if (!stop.signal.aborted) setFound(error instanceof Error ? error : new Error(String(error)));
    });
    return () => stop.abort();
  }, [asked]);
  return found;
}

async function lettersOf(jobIds: readonly string[], signal: AbortSignal): Promise<string[]> {
  const ids: string[] = [];
  const left = [...jobIds];
  const look = async (): Promise<void> => {
    for (let id = left.pop(); id !== undefined; id = left.pop()) {
      const { data } = await get<DeadLetterPage>(withQuery('/dlq', { job_id: id, replayed: false }), signal);
      ids.push(...data.dead_letters.map((letter) => String(letter.id)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  return ids;
}
