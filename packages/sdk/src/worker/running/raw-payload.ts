import { jsonElements, jsonMember } from '../../json/slices.js';

/** The payload of one job in the text of a lease's answer, for handlers that ask for it as it was sent. */
export function rawPayload(answer: string, index: number): string {
  let passed = 0;
  for (const leased of jsonElements(jsonMember(answer, 'jobs') ?? '')) {
    if (passed++ < index) continue;
    const payload = jsonMember(jsonMember(leased, 'job') ?? '', 'payload');
    if (payload !== undefined) return payload;
    break;
  }
  throw new SyntaxError("the server's answer holds no such payload");
}
