import { TENANT_KEY } from '../stage/server.js';

export interface SeenEvent {
  readonly status: string;
  readonly at: number;
}

/** Follows the event stream of a job until the server ends it. `onFirst` is called once it is known to be open. */
export async function watchEvents(
  baseUrl: string,
  job: string,
  signal: AbortSignal,
  onFirst: () => void = () => undefined,
): Promise<readonly SeenEvent[]> {
  const response = await fetch(new URL(`/api/v1/jobs/${job}/events`, baseUrl), {
    headers: { authorization: `Bearer ${TENANT_KEY}` },
    signal,
  });
  if (response.status !== 200 || response.body === null)
    throw new Error(`the event stream answered ${response.status}`);
  const events: SeenEvent[] = [];
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const data = block.split('\n').find((line) => line.startsWith('data:'));
      if (data === undefined) continue;
      const { status } = JSON.parse(data.slice('data:'.length)) as { status: string };
      if (events.push({ status, at: performance.now() }) === 1) onFirst();
    }
  }
  return events;
}
