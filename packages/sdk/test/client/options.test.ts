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

describe('a url', () => {
  it.each(['localhost:8000', '127.0.0.1:8000', 'millrace.internal', 'ftp://host', 'http://', ''])(
    'that is no address of a server (%j) is refused at construction',
    (url) => {
      const message = `the url must begin with http:// or https://, unlike ${JSON.stringify(url)}`;
      for (const construct of [
        () => new Millrace({ url }),
        () => new Worker({ url, queues: { mail: 1 }, handlers: [handler] }),
      ]) {
        expect(construct).toThrow(new TypeError(message));
      }
    },
  );
});

describe('what is most likely a variable that is not set', () => {
  const fetch = (): Promise<Response> => Promise.reject(new Error('nothing is to be sent'));
  const millrace = new Millrace({ fetch });
  const mail = task({ name: 'mail' });

  it('is refused as the name of a task', () => {
    expect(() => task({ name: '' })).toThrow(new TypeError('a task needs a name'));
  });

  it('is refused as a key', async () => {
    const refusal = { code: 'invalid_request', message: 'a key must not be empty' };
    await expect(millrace.enqueue(mail, {}, { key: '' })).rejects.toMatchObject(refusal);
    await expect(millrace.enqueueMany([mail.with({}, { key: '' })])).rejects.toMatchObject(refusal);
    await expect(millrace.enqueueMany([mail.with()], { key: '' })).rejects.toMatchObject(refusal);
  });
});
