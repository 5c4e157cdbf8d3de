/** What a relay took from the outbox. JSON is text, as it was written. */
export interface Entry {
  /** The order of writing; a bigint as text. */
  readonly seq: string;
  readonly key: string;
  /** Null: a workflow, whose whole request is the payload. */
  readonly task: string | null;
  readonly queue: string | null;
  readonly payload: string;
  readonly config: string | null;
  readonly metadata: string | null;
  readonly runAt: string | null;
  /** How long ago it was first taken by a relay that may have sent it; 0: now. */
  readonly triedSecs: number;
}

/** The body of `POST /jobs/batch` for jobs. What the application wrote is passed on as it stands. */
export function batchText(entries: readonly Entry[]): string {
  let text = '{"jobs":[';
  for (let n = 0; n < entries.length; n++) text += (n === 0 ? '' : ',') + jobText(entries[n]!);
  return `${text}]}`;
}

function jobText({ task, key, payload, queue, config, metadata, runAt }: Entry): string {
  let text = `{"task_name":${JSON.stringify(task)},"idempotency_key":${JSON.stringify(key)},"payload":${payload}`;
  if (queue !== null || config !== null) text += `,"config":${configText(queue, config)}`;
  if (metadata !== null) text += `,"metadata":${metadata}`;
  if (runAt !== null) text += `,"run_at":${JSON.stringify(runAt)}`;
  return `${text}}`;
}

/** The configuration is an object that names no queue: the outbox has seen to that. */
function configText(queue: string | null, config: string | null): string {
  if (queue === null) return config!;
  const own = `{"queue":${JSON.stringify(queue)}`;
  const rest = config?.trim().slice(1).trimStart() ?? '}';
  return rest.startsWith('}') ? `${own}}` : `${own},${rest}`;
}
