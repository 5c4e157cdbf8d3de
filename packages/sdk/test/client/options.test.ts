import { describe, expect, it } from 'vitest';
import { Millrace } from '../../src/index.js';
import { Worker } from '../../src/worker/index.js';
import { task, type } from '../../src/index.js';

const handler = task({ name: 'noop', input: type<object>() }).handle(() => ({}));

describe('a token', () => {
  it.each(['sesame\nopen', 'sesame open', 'sésame', 'sesame\u0000', ' '])(
    'that no header can carry (%j) is refused at construction, and not repeated',
    (token) => {
      for (const construct of [
        () => new Millrace({ token }),
        () => new Worker({ token, queues: { mail: 1 }, handlers: [handler] }),
      ]) {
        expect(construct).toThrow(new TypeError('the token must consist of visible ASCII characters without spaces'));
      }
    },
  );

  it('may end with the line end of the file that it was read from', async () => {
    const sent: unknown[] = [];
    const fetch = async (_url: unknown, init?: RequestInit): Promise<Response> => {
      sent.push((init?.headers as Record<string, string>).Authorization);
      return Response.json({ tenant_id: 'acme', kind: 'tenant', features: [] });
    };
    await new Millrace({ token: 'sesame\n', fetch }).whoami();
    expect(sent).toEqual(['Bearer sesame']);
  });
});
