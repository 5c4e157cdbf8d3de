import fc from 'fast-check';
import { expect, test } from 'vitest';
import { rawPayload } from '../../../src/worker/running/raw-payload.js';

test('the payload of a job is found in the answer as it was sent', () => {
  const payload = fc.dictionary(fc.string(), fc.jsonValue());
  const spaces = fc.constantFrom(undefined, 1, '\t', 2);
  fc.assert(
    fc.property(fc.array(payload, { minLength: 1, maxLength: 4 }), spaces, fc.nat(), (payloads, indent, pick) => {
      const jobs = payloads.map((each) => ({
        job: { id: 'x', 'pay"load': '\\"{', metadata: { payload: 'not this' }, payload: each, result: null },
        lease_token: '}]',
      }));
      const index = pick % payloads.length;
      const answer = JSON.stringify({ other: [{ jobs: [] }], jobs }, null, indent);
      expect(JSON.parse(rawPayload(answer, index))).toEqual(JSON.parse(JSON.stringify(payloads[index])));
    }),
  );
});

test('numbers and blanks are left as they are', () => {
  const answer = '{"jobs": [ {"job":{"payload": { "a" : 1.10, "b":9007199254740993 } } ,"lease_token":"t"}]}';
  expect(rawPayload(answer, 0)).toBe('{ "a" : 1.10, "b":9007199254740993 }');
});
