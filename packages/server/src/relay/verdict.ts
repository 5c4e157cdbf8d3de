/** What came back from the service: an answer, or none. */
export type Reply =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body: string;
      /** What `Retry-After` asks for. */
      readonly retryAfterMs: number | null;
    }
  /** `unsent`: no connection was made, so the service cannot have seen it. */
  | { readonly kind: 'none'; readonly unsent: boolean; readonly reason: string };

/** Why an entry is set aside. */
export interface Refusal {
  readonly code: string;
  readonly error: string;
}

/** The service is not ready: again later, with everything kept. */
export interface Again {
  readonly kind: 'again';
  readonly reason: string;
  readonly unsent: boolean;
  readonly retryAfterMs: number | null;
}

/** Something is set up wrongly, and trying again would not help. */
export interface Stop {
  readonly kind: 'stop';
  readonly reason: string;
}

export type Verdict =
  | { readonly kind: 'delivered' }
  /** These entries, by their position, will never be taken; the others may. */
  | { readonly kind: 'refused'; readonly items: ReadonlyMap<number, Refusal> }
  /** Too large, or wrong without saying where: in halves, and a single one is refused. */
  | { readonly kind: 'split'; readonly refusal: Refusal }
  | Again
  | Stop;

interface ErrorBody {
  readonly error?: string;
  readonly code?: string;
  readonly details?: unknown;
}

/** What the service said about a batch of jobs, or about one workflow. */
export function verdictOf(reply: Reply): Verdict {
  if (reply.kind === 'none') return { kind: 'again', reason: reply.reason, unsent: reply.unsent, retryAfterMs: null };
  const { status, body } = reply;
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  const { error, code, details } = parsed(body);
  const reason = `${status} ${error ?? 'without a reason'}`;
  if (status >= 500 || status === 408 || status === 429)
    return { kind: 'again', reason, unsent: false, retryAfterMs: reply.retryAfterMs };
  if (status !== 400 && status !== 409 && status !== 413) return { kind: 'stop', reason };
  const named = itemsOf(details);
  if (named.some(({ path, message }) => path.endsWith('.idempotency_key') && /known field|no effect/.test(message)))
    return {
      kind: 'stop',
      reason: 'the service is older than this relay: it does not support a key for each job of a batch',
    };
  if (named.length === 0) return { kind: 'split', refusal: { code: code ?? String(status), error: reason } };
  const items = named.map(({ index, path, message }): [number, Refusal] => [
    index,
    { code: code ?? String(status), error: `${path.replace(/^jobs\[\d+\]\.?/, '') || 'the job'} ${message}` },
  ]);
  // The first thing that is wrong with an entry is enough.
  return { kind: 'refused', items: new Map(items.reverse()) };
}

function parsed(body: string): ErrorBody {
  try {
    return (JSON.parse(body) ?? {}) as ErrorBody;
  } catch {
    return {};
  }
}

interface Named {
  readonly index: number;
  readonly path: string;
  readonly message: string;
}

function itemsOf(details: unknown): Named[] {
  if (!Array.isArray(details)) return [];
  return (details as { path?: unknown; message?: unknown }[]).flatMap(({ path, message }) => {
    const index = /^jobs\[(\d+)\]/.exec(String(path))?.[1];
    return index === undefined ? [] : [{ index: Number(index), path: String(path), message: String(message) }];
  });
}
