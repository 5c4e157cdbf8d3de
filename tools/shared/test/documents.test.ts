import { expect, it } from 'vitest';
import { replaceBetween } from '../src/documents.js';

const marks = { begin: '<!-- outcome -->', end: '<!-- end of outcome -->' };

it('replaces what is between the marks, and nothing else', () => {
  const page = 'a\n<!-- outcome -->\nold\n<!-- end of outcome -->\nb';
  expect(replaceBetween(page, marks, 'new')).toBe('a\n<!-- outcome -->\nnew\n<!-- end of outcome -->\nb');
});

it.each(['no marks', '<!-- end of outcome --> <!-- outcome -->'])('refuses %j', (page) => {
  expect(() => replaceBetween(page, marks, 'new')).toThrow('the document has no <!-- outcome -->');
});
