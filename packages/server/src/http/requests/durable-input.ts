import {
  ASK_MAX_BYTES,
  CHECKPOINT_NAME_MAX_LENGTH,
  SIGNAL_MAX_BYTES,
  SUSPEND_LIMITS,
  type Report,
  type SuspendRequest,
  type SuspendWait,
} from '@millrace/contract';
import { isLongerThan } from '@millrace/sdk/rules';
import { invalidField, payloadTooLarge } from '../../domain/errors.js';
import { rawFields } from '../../domain/raw-json.js';
import type { AwaitedSignal, JsonText, Suspension } from '../../domain/records.js';
import { characterCount, isStorableText } from '../../domain/text.js';

/** What durable jobs store and wait for, from what was sent to what the engine takes. */

type SuspendFields = Pick<SuspendRequest, 'delay_secs' | 'until' | 'wait'> & Pick<Report, 'checkpoint'>;

/** `wait`: the text of that field, as it was sent. */
export function suspensionOf(body: SuspendFields, wait: string | undefined): Suspension {
  const { checkpoint, until = null, delay_secs: delaySecs = null } = body;
  if (checkpoint === undefined) throw invalidField('checkpoint', 'is required');
  if ((until === null) === (delaySecs === null)) throw invalidField('until', 'or delay_secs is required, and not both');
  if (until !== null) checkInstant(until);
  return { checkpoint, until, delaySecs, ...awaited(body.wait ?? null, wait) };
}

function awaited(
  wait: SuspendRequest['wait'] | null,
  text: string | undefined,
): Pick<Suspension, 'signal' | 'children'> {
  if (!wait) return { signal: null, children: null };
  const { signal, children, ask } = wait;
  if ((signal === undefined) === (children === undefined))
    throw invalidField('wait', 'must have either a signal or children');
  if (signal !== undefined) return { signal: awaitedSignal(signal, ask, text), children: null };
  if (ask) throw invalidField('wait.ask', 'goes with a signal');
  return { signal: null, children: distinct(children ?? []) };
}

function distinct(names: readonly string[]): readonly string[] {
  const twice = names.findIndex((name, n) => names.indexOf(name) < n);
  if (twice >= 0) throw invalidField(`wait.children[${twice}]`, 'is named twice');
  return names;
}

/** By this server's clock: an instant is compared with the database's when the job waits. */
function checkInstant(until: string): void {
  if (Date.parse(until) - Date.now() > SUSPEND_LIMITS.maximum * 1_000)
    throw invalidField('until', 'must be at most a year ahead');
}

function awaitedSignal(
  signal: NonNullable<SuspendWait['signal']>,
  ask: SuspendWait['ask'],
  text: string | undefined,
): AwaitedSignal {
  const [askText] = ask && text !== undefined ? rawFields(text, ['ask']) : [];
  return { name: signal.name, key: signal.key ?? null, ask: bounded(askText ?? null, 'wait.ask', ASK_MAX_BYTES) };
}

/** Of a path; as validation would judge a name in a body. */
export function signalName(name: string): string {
  if (!isStorableText(name)) throw invalidField('name', 'must not contain NUL characters or lone surrogates');
  if (name === '' || characterCount(name) > CHECKPOINT_NAME_MAX_LENGTH)
    throw invalidField('name', `must have 1 to ${CHECKPOINT_NAME_MAX_LENGTH} characters`);
  return name;
}

export const signalValue = (text: string | undefined): JsonText => bounded(text ?? 'null', 'value', SIGNAL_MAX_BYTES);

/** JSON of any kind, null included; `text`: as it was sent. */
export function valueText(text: string | undefined, maxBytes: number): JsonText {
  if (text === undefined) throw invalidField('value', 'is required');
  return bounded(text, 'value', maxBytes);
}

function bounded<Text extends string | null>(text: Text, path: string, maxBytes: number): Text {
  if (text !== null && isLongerThan(maxBytes, text)) throw payloadTooLarge(path, maxBytes);
  return text;
}
