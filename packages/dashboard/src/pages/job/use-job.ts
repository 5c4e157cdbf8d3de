import type { Job } from '@millrace/contract';
import { useState } from 'react';
import type { Answer, ApiError } from '../../api/client.js';
import { POLL_MS, queryClient, useRead } from '../../api/hooks.js';
import { useStream, type StreamEvent, type StreamState } from '../../api/stream.js';
import { hasEnded } from '../../lib/states.js';

export interface FollowedJob {
  readonly answer: Answer<Job> | undefined;
  readonly error: ApiError | null;
  /** The raw text of what the running attempt last reported. */
  readonly progress: string | null;
  readonly stream: StreamState;
}

/** A job as it is now: read once, then followed by its event stream; polled while the stream is cut. */
export function useJob(id: string): FollowedJob {
  const path = `/jobs/${encodeURIComponent(id)}`;
  const [stream, setStream] = useState<StreamState>('connecting');
  const [reported, setReported] = useState<{ readonly id: string; readonly text: string } | null>(null);
  const pollMs = stream === 'polling' ? POLL_MS : null;
  const { answer, error } = useRead<Job>(path, { keepPrevious: false, pollMs });
  const ended = answer !== undefined && hasEnded(answer.data.status);
  const follow = answer !== undefined && !ended && error === null;
  const onEvent = ({ event, data }: StreamEvent): void => {
    if (event === 'progress') setReported({ id, text: data });
    if (event !== 'status') return;
    setReported(null);
    queryClient.setQueryData<Answer<Job>>(['read', path], { data: JSON.parse(data) as Job, text: data });
    // How it got there has changed with it.
    for (const part of ['attempts', 'why', 'checkpoints'])
      void queryClient.invalidateQueries({ queryKey: ['read', `${path}/${part}`] });
  };
  useStream(follow ? `${path}/events` : null, setStream, onEvent);
  const progress = reported?.id === id && answer?.data.status === 'running' ? reported.text : null;
  return { answer, error, progress, stream };
}
