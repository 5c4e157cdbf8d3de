import { afterEach, describe, expect, it, vi } from 'vitest';
import { consoleLogger } from '../../src/index.js';

const FIELDS = { job: 'j-1', stack: 'Error: no paper\n    at print (printer.ts:7:1)' };

describe('the logger of programs that bring none', () => {
  const { isTTY } = process.stderr;
  afterEach(() => {
    process.stderr.isTTY = isTTY;
    vi.restoreAllMocks();
  });

  function written(): string {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    consoleLogger.warn('print failed', FIELDS);
    return String(warn.mock.calls[0]?.[0]);
  }

  it('writes lines for people to a terminal, the stack below', () => {
    process.stderr.isTTY = true;
    expect(written()).toBe(`millrace: print failed {"job":"j-1"}\n${FIELDS.stack}`);
  });

  it('writes one line of JSON to anything else', () => {
    process.stderr.isTTY = false;
    expect(JSON.parse(written())).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      level: 'warn',
      name: 'millrace',
      msg: 'print failed',
      ...FIELDS,
    });
  });
});
