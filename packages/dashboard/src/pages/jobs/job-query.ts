import type { Query } from '../../api/client.js';
import type { Address } from '../../lib/address.js';

/** The question to the server that the address of the list stands for. A span comes as the instant it begins at. */
export const jobQuery = (address: Address, created_after?: string): Query => {
  const { status, queue, task, idempotency_key, workflow_id, cursor } = address;
  return { view: 'summary', limit: 50, status, queue, task, idempotency_key, workflow_id, created_after, cursor };
};
