import type { Workflow, WorkflowResumed } from '@millrace/contract';
import { useEffect, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { FormDialog } from '../../components/dialogs/form-dialog.js';
import { JsonField } from '../../components/forms/fields.js';
import { ErrorNote, Loading } from '../../components/notes.js';
import { say } from '../../components/toasts.js';
import { plural } from '../../lib/format.js';
import { newUuid } from '../../lib/uuid.js';

/** Whether it can go on. */
export const isResumable = ({ status }: Pick<Workflow, 'status'>): boolean =>
  status === 'failed' || status === 'partially_failed' || status === 'cancelled';

interface ResumeProps {
  readonly workflow: Workflow;
  /** The step to begin with; undefined: every step that failed or was cancelled. */
  readonly from?: string | undefined;
  readonly onClose: () => void;
}

/** Lets an ended workflow go on, after saying which steps run again. */
export function ResumeDialog({ workflow, from, onClose }: ResumeProps): ReactNode {
  const [context, setContext] = useState('');
  const [key] = useState(newUuid);
  const preview = usePreview(workflow.id, from);
  const steps = preview === null || preview instanceof Error ? null : preview.steps;
  const request: Change = {
    method: 'POST',
    path: `/workflows/${workflow.id}/resume`,
    body: bodyOf(from, context),
    idempotencyKey: key,
  };
  const resume = async (): Promise<void> => {
    await change(request);
    say(`Workflow ${workflow.name} resumed.`);
    onClose();
    await refresh();
  };
  return (
    <FormDialog
      title={from === undefined ? `Resume ${workflow.name}?` : `Resume ${workflow.name} from ${from}?`}
      verb="Resume"
      request={request}
      mayGo={steps !== null && isObject(context)}
      onSubmit={resume}
      onClose={onClose}
    >
      {preview === null && <Loading />}
      {preview instanceof Error && <ErrorNote error={preview} />}
      {steps !== null && (
        <>
          <p>{plural(steps.length, 'step')} will run again, each with a new job. All others keep their results.</p>
          <ul className="resumed-steps">
            {steps.map((name) => (
              <li key={name} className="mono">
                {name}
              </li>
            ))}
          </ul>
        </>
      )}
      <JsonField
        label="Changes to the context (an object, or nothing)"
        value={context}
        onChange={setContext}
        rows={3}
        placeholder='{"card": "tok_2"}'
      />
    </FormDialog>
  );
}

/** As text: numbers are sent as they were typed. */
function bodyOf(from: string | undefined, context: string): string {
  const parts = [
    ...(from === undefined ? [] : [`"steps":[${JSON.stringify(from)}]`]),
    ...(context.trim() === '' ? [] : [`"context":${context.trim()}`]),
  ];
  return `{${parts.join(',')}}`;
}

function isObject(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

/** Null while the server has not answered. */
function usePreview(id: string, from: string | undefined): WorkflowResumed | Error | null {
  const [answer, setAnswer] = useState<WorkflowResumed | Error | null>(null);
  useEffect(() => {
    let current = true;
    const tell = (given: WorkflowResumed | Error | null): void => {
      if (current) setAnswer(given);
    };
    const body = JSON.stringify({ ...(from !== undefined && { steps: [from] }), dry_run: true });
    change<WorkflowResumed>({ method: 'POST', path: `/workflows/${id}/resume`, body }).then(tell, (error: unknown) =>
      tell(error instanceof Error ? error : new Error(String(error))),
    );
    return () => {
      current = false;
    };
  }, [id, from]);
  return answer;
}
