import type { Workflow, WorkflowEvent, WorkflowStep, WorkflowSteps } from '@millrace/contract';
import { useMemo, useState } from 'react';
import type { ApiError } from '../../api/client.js';
import { POLL_MS, useRead } from '../../api/hooks.js';
import { useStream, type StreamState } from '../../api/stream.js';
import { memberText } from '../../lib/json/spans.js';

export interface LiveWorkflow {
  readonly workflow: Workflow;
  /** The record as it came. */
  readonly text: string;
  readonly steps: readonly WorkflowStep[];
}

interface Live {
  readonly live: LiveWorkflow | undefined;
  readonly error: ApiError | null;
  readonly stream: StreamState;
}

export const hasWorkflowEnded = ({ status }: Pick<Workflow, 'status'>): boolean =>
  status !== 'created' && status !== 'running';

/**
 * The workflow and its steps, by its event stream. Until the stream's first event, and while it is cut, by polling:
 * whichever was heard last is shown.
 */
export function useWorkflow(id: string): Live {
  const [heard, setHeard] = useState<{ readonly id: string; readonly at: number; readonly text: string }>();
  const mine = heard?.id === id ? heard : undefined;
  const event = useMemo(() => (mine === undefined ? undefined : fromEvent(mine.text)), [mine]);

  const path = `/workflows/${encodeURIComponent(id)}`;
  const [stream, setStream] = useState<StreamState>('connecting');
  const hasEnded = (workflow: Workflow | undefined): boolean => workflow !== undefined && hasWorkflowEnded(workflow);
  const pollMs = stream === 'live' || hasEnded(event?.workflow) ? null : POLL_MS;
  const record = useRead<Workflow>(path, { pollMs, until: hasWorkflowEnded, keepPrevious: false });
  const steps = useRead<WorkflowSteps>(`${path}/steps`, {
    pollMs: hasEnded(event?.workflow) || hasEnded(record.data) ? null : pollMs,
    keepPrevious: false,
  });

  const polled =
    record.answer === undefined || steps.data === undefined
      ? undefined
      : { workflow: record.answer.data, text: record.answer.text, steps: steps.data.steps };
  const polledAt = Math.min(record.readAt, steps.readAt);
  const live = polled === undefined || (mine !== undefined && mine.at >= polledAt) ? (event ?? polled) : polled;
  // By what was heard last: a workflow that ended may have been resumed since.
  const isOver = hasEnded(live?.workflow) || (live === undefined && hasEnded(record.data));
  useStream(isOver ? null : `${path}/events`, setStream, ({ event: name, data }) => {
    if (name === 'status') setHeard({ id, at: Date.now(), text: data });
  });
  return { live, error: record.error ?? steps.error, stream };
}

function fromEvent(text: string): LiveWorkflow {
  const { workflow, steps } = JSON.parse(text) as WorkflowEvent;
  return { workflow, text: memberText(text, 'workflow') ?? '{}', steps };
}
