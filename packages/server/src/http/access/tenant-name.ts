import { NAME_MAX_LENGTH } from '@millrace/contract';
import { characterCount, isStorableText } from '../../domain/text.js';

/** It becomes the owner of rows, so it must be storable. */
export const isTenantName = (name: unknown): name is string =>
  typeof name === 'string' && name !== '' && isStorableText(name) && characterCount(name) <= NAME_MAX_LENGTH;
