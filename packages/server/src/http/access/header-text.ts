import { isUtf8 } from 'node:buffer';
import { invalidField } from '../../domain/errors.js';

const ASCII = /^[\x20-\x7e\t]*$/;

/** The text of a header. Node decodes its bytes as Latin-1; anything beyond ASCII must be UTF-8. */
export function headerText(name: string, value: string): string {
  if (ASCII.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  if (!isUtf8(bytes)) throw invalidField(name, 'must be valid UTF-8');
  return bytes.toString();
}
