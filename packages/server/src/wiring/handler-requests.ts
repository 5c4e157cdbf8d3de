import * as contract from '@millrace/contract';
import { Set as setFormat } from 'typebox/format';
import { Errors } from 'typebox/schema';
import type { TSchema } from 'typebox';
import type { Config } from '../config/config.js';
import { invalidField, invalidRequest } from '../domain/errors.js';
import { isInstant } from '../domain/instant.js';
import { fieldsOfItems, nestingDepth, rawFields } from '../domain/raw-json.js';
import { atOnce } from '../domain/steps.js';
import { isStorableText } from '../domain/text.js';
import { childSpecs } from '../http/requests/children-input.js';
import { CALLER_FIELDS } from '../http/requests/job-input.js';
import { suspensionOf, valueText } from '../http/requests/durable-input.js';
import { validationDetails } from '../http/requests/validation.js';
import type { HandlerRequests } from '../pool/durable-jobs.js';

/**
 * What in-process handlers ask for is read as if a worker had sent it: by the contract's schemas, and by the same rules
 * after that.
 */
export function handlerRequests(settings: Pick<Config, 'defaultQueue' | 'maxPayloadBytes'>): HandlerRequests {
  setFormat('text', isStorableText);
  setFormat('date-time', isInstant);
  return {
    checkpoint: (name, value) => {
      check(contract.CheckpointRequest, { ...UNDER_LEASE, name, value: null });
      return shallow('value', valueText(JSON.stringify(value), settings.maxPayloadBytes));
    },
    children: (jobs) => {
      const text = shallow('jobs', JSON.stringify({ ...UNDER_LEASE, jobs }));
      const body = JSON.parse(text) as contract.ChildrenRequest;
      check(contract.ChildrenRequest, body);
      return childSpecs(body.jobs, atOnce(fieldsOfItems(text, 'jobs', CALLER_FIELDS)), settings);
    },
    suspension: (wait) => {
      const text = JSON.stringify({ ...UNDER_LEASE, ...wait });
      const body = JSON.parse(text) as contract.SuspendRequest;
      check(contract.SuspendRequest, body);
      return suspensionOf(body, rawFields(text, ['wait'])[0]);
    },
  };
}

/** The pool knows the lease; requests have to name it. */
const UNDER_LEASE = { lease_token: '' };

const NAMED = Object.fromEntries(
  (Object.values(contract) as unknown[]).flatMap((each) =>
    typeof each === 'object' && each !== null && '$id' in each ? [[`${String(each.$id)}#`, each]] : [],
  ),
) as Record<string, TSchema>;

/** PostgreSQL cannot read what is nested deeper, and would fail the statement with all that others store by it. */
function shallow(path: string, text: string): string {
  if (nestingDepth(text) > contract.JSON_MAX_DEPTH)
    throw invalidField(path, `is nested deeper than ${contract.JSON_MAX_DEPTH} levels`);
  return text;
}

function check(schema: TSchema, value: unknown): void {
  const [isValid, problems] = Errors(NAMED, schema, value);
  if (isValid) return;
  const details = validationDetails(problems);
  throw invalidRequest(details.map(({ path, message }) => `${path} ${message}`).join('; '), details);
}
