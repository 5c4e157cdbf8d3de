import type { Query } from '../../api/client.js';
import type { Address } from '../../lib/address.js';
import { stateQuery } from '../../lib/held.js';

const METADATA = 'metadata.';

/** A field of the metadata and the value to look for. */
export type MetadataFilter = readonly [field: string, value: string];

/** The field of the metadata that the address asks for, as the API has it: `metadata.source=signup`. */
export function metadataOf(address: Address): MetadataFilter | undefined {
  const found = Object.entries(address).find(([name, value]) => name.startsWith(METADATA) && value !== undefined);
  return found === undefined ? undefined : [found[0].slice(METADATA.length), found[1] ?? ''];
}

/** What to change in the address: the one field that is asked for takes the place of the one before. */
export function withMetadata(address: Address, filter: MetadataFilter | undefined): Address {
  const before = Object.keys(address).filter((name) => name.startsWith(METADATA));
  return {
    ...Object.fromEntries(before.map((name) => [name, undefined])),
    ...(filter === undefined ? {} : { [METADATA + filter[0]]: filter[1] }),
  };
}

/** What was typed: `source=signup`, with or without the word before it; null if it is neither. */
export function parseMetadata(text: string): MetadataFilter | null {
  const [, field = '', value = ''] = /^(?:metadata\.)?([^=]+?)\s*=\s*(.+)$/s.exec(text.trim()) ?? [];
  return field === '' ? null : [field, value];
}

/** The names in the address that narrow the list, besides those of metadata. */
const FILTERS = ['status', 'queue', 'task', 'since', 'error', 'idempotency_key', 'workflow_id'];

export const hasFilter = (address: Address): boolean =>
  FILTERS.some((name) => address[name] !== undefined) || metadataOf(address) !== undefined;

/** The question to the server that the address of the list stands for. A span comes as the instant it begins at. */
export const jobQuery = (address: Address, created_after?: string): Query => {
  const { status, queue, task, error, idempotency_key, workflow_id, cursor } = address;
  const metadata = metadataOf(address);
  return {
    ...stateQuery(status),
    ...{ view: 'summary', limit: 50, queue, task, error, idempotency_key, workflow_id, created_after, cursor },
    ...(metadata === undefined ? {} : { [METADATA + metadata[0]]: metadata[1] }),
  };
};
