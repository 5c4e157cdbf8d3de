import { isObject, type JsonObject } from '../json/object.js';
import { knownInBothFormats } from './both-formats.js';

/** A result that is JSON text already. */
export class JsonText {
  constructor(readonly text: string) {}

  toJSON(): unknown {
    return JSON.parse(this.text);
  }
}

knownInBothFormats({ JsonText });

/**
 * A result made of JSON text, sent as it is: for numbers that JavaScript cannot hold, or for text that some other
 * program has written. For tasks without an output schema, which could not look inside.
 *
 * @example handle((_, { job }) => jsonText(job.payloadText)) // echoes a payload byte for byte
 * @throws TypeError if the text is not a JSON object
 */
export function jsonText(text: string): JsonObject {
  if (!isObjectText(text)) throw new TypeError('the text is not a JSON object');
  return new JsonText(text) as unknown as JsonObject;
}

function isObjectText(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
