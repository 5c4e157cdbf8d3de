import type { ErrorDetail } from '@millrace/contract';
import type { FastifySchemaValidationError, FastifyServerOptions } from 'fastify';
import { isInstant } from '../../domain/instant.js';
import { isStorableText } from '../../domain/text.js';

/**
 * Validation follows the contract's schemas to the letter: nothing is coerced, filled in or removed. All problems
 * are reported, which is only safe because no schema here lets the caller choose how many there can be: routes that
 * take arrays check the length first.
 */
export const validatorOptions: NonNullable<FastifyServerOptions['ajv']> = {
  customOptions: {
    coerceTypes: false,
    useDefaults: false,
    removeAdditional: false,
    allErrors: true,
    allowUnionTypes: true,
  },
  // Runs after the stock formats are in place, so that ours replace them.
  onCreate: (ajv) => {
    ajv.addFormat('text', isStorableText);
    ajv.addFormat('date-time', isInstant);
  },
};

/**
 * What the validator found, in the words and paths of the API. One problem per field: it is enough to report once that
 * a number was expected.
 */
export function validationDetails(problems: readonly FastifySchemaValidationError[]): ErrorDetail[] {
  const details = new Map<string, ErrorDetail>();
  for (const problem of problems) {
    const path = pathOf(problem);
    if (!details.has(path)) details.set(path, { path, message: messageOf(problem) });
  }
  return [...details.values()];
}

/** `/jobs/3/config/max_retries` becomes `jobs[3].config.max_retries`. */
function pathOf(problem: FastifySchemaValidationError): string {
  const segments = problem.instancePath.split('/').slice(1).map(unescapePointer);
  if (problem.keyword === 'required') segments.push(String(problem.params.missingProperty));
  const path = segments.reduce((before, segment) => {
    if (/^\d+$/.test(segment)) return `${before}[${segment}]`;
    return before === '' ? segment : `${before}.${segment}`;
  }, '');
  return path === '' ? 'body' : path;
}

const unescapePointer = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

function messageOf({ keyword, params, message }: FastifySchemaValidationError): string {
  switch (keyword) {
    case 'required':
      return 'is required';
    case 'type':
      return `must be ${nameOfType(params.type)}`;
    case 'enum':
      return `must be one of ${allowedWords(params.allowedValues)}`;
    case 'pattern':
      return 'must not be blank';
    case 'minLength':
      return 'must not be empty';
    case 'maxLength':
      return `must have at most ${String(params.limit)} characters`;
    case 'minItems':
      return `must have at least ${String(params.limit)} item`;
    case 'maxItems':
      return `must have at most ${String(params.limit)} items`;
    case 'format':
      return params.format === 'date-time'
        ? 'must be an RFC 3339 instant with an offset or Z'
        : 'must not contain NUL characters or lone surrogates';
    default:
      return message ?? 'is not valid';
  }
}

/** A field that may be null has two types for the validator, but only one for the caller. */
function nameOfType(type: unknown): string {
  const types = Array.isArray(type) ? (type as unknown[]) : [type];
  return types.filter((each) => each !== 'null').join(' or ');
}

const allowedWords = (values: unknown): string =>
  (Array.isArray(values) ? values : []).filter((each) => typeof each === 'string').join(', ');
