import type { Ask } from '@millrace/contract';
import { useMemo, useState, type ReactNode } from 'react';
import { change, type Change } from '../../api/client.js';
import { refresh } from '../../api/hooks.js';
import { elementsOf, membersOf, objectOf } from '../../lib/json/slice.js';
import { newUuid } from '../../lib/uuid.js';
import { useMayWrite } from '../../session/session.js';
import { JsonField } from '../forms/fields.js';
import { say, sayError } from '../toasts.js';
import './waits.css';

/** A signal that a job waits for. */
export interface Awaited {
  readonly jobId: string;
  readonly name: string;
  readonly key: string;
}

interface AnswerFormProps {
  readonly awaited: Awaited;
  readonly ask: Ask | null;
  /** The question as it came: its choices are sent to the byte. */
  readonly askText: string;
}

/** The question of a job, and its answers: a button for each choice, or a field if there are none. */
export function AnswerForm({ awaited, ask, askText }: AnswerFormProps): ReactNode {
  const mayWrite = useMayWrite();
  const { busy, send } = useSignal(awaited);
  const choices = ask?.choices ?? [];
  const values = useMemo(() => choiceValues(askText), [askText]);
  return (
    <div className="stack answer">
      {ask !== null && <p className="question">{ask.text}</p>}
      {mayWrite && choices.length > 0 && (
        <div className="row" role="group" aria-label="Answers">
          {choices.map(({ label }, index) => (
            <button
              key={index}
              type="button"
              className="button"
              disabled={busy}
              title={values[index]}
              onClick={() => void send(values[index] ?? 'null')}
            >
              {label}
            </button>
          ))}
        </div>
      )}
      {mayWrite && choices.length === 0 && <ValueForm busy={busy} onSend={(value) => void send(value)} />}
    </div>
  );
}

function ValueForm({ busy, onSend }: { readonly busy: boolean; readonly onSend: (value: string) => void }): ReactNode {
  const [text, setText] = useState('');
  const value = text.trim() === '' ? 'null' : text.trim();
  const mayGo = isJson(value) && !busy;
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (mayGo) onSend(value);
      }}
    >
      <JsonField
        label="Answer, as JSON"
        rows={2}
        value={text}
        placeholder='{"approved": true}'
        aria-invalid={!isJson(value)}
        onChange={setText}
      />
      <div className="row">
        <button type="submit" className="button primary" disabled={!mayGo}>
          Send
        </button>
      </div>
    </form>
  );
}

/** Sends the value of a signal, and says what became of it: the form may be gone by then. */
function useSignal(awaited: Awaited): { readonly busy: boolean; readonly send: (value: string) => Promise<void> } {
  const [busy, setBusy] = useState(false);
  const send = async (value: string): Promise<void> => {
    setBusy(true);
    try {
      await change(requestOf(awaited, value));
      say(`Sent ${awaited.name}`);
      await refresh();
    } catch (error) {
      sayError(error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, send };
}

/** To the job itself where its id is the key: nobody else can take it. */
function requestOf({ jobId, name, key }: Awaited, value: string): Change {
  const request = { method: 'POST', idempotencyKey: newUuid() } as const;
  if (key === jobId)
    return { ...request, path: `/jobs/${jobId}/signals/${encodeURIComponent(name)}`, body: objectOf({ value }) };
  const body = objectOf({ name: JSON.stringify(name), key: JSON.stringify(key), value });
  return { ...request, path: '/signals', body };
}

const choiceValues = (askText: string): (string | undefined)[] =>
  elementsOf(membersOf(askText).get('choices') ?? '[]').map((choice) => membersOf(choice).get('value'));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
