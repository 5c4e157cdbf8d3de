import { NAME_MAX_LENGTH } from '@millrace/contract';
import { invalidField } from '../../domain/errors.js';
import { characterCount, isStorableText } from '../../domain/text.js';

/** The name of a queue in a path. */
export function queueName(queue: string): string {
  if (queue === '' || characterCount(queue) > NAME_MAX_LENGTH || !isStorableText(queue)) {
    throw invalidField('queue', `must have 1 to ${NAME_MAX_LENGTH} characters, none of them NUL`);
  }
  return queue;
}
