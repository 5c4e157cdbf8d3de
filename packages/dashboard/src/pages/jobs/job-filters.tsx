import type { Queues, Tasks } from '@millrace/contract';
import { useState, type ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { SearchField, SelectFilter, SpanFilter, TextFilter } from '../../components/tables/filters.js';
import { metadataOf, parseMetadata, withMetadata } from './job-query.js';
import { go, useAddress } from '../../lib/routing.js';

const STATES: readonly (readonly [string, string])[] = [
  ['pending,running,retrying', 'not ended'],
  ['waiting', 'waiting'],
  ['scheduled', 'scheduled'],
  ['running', 'running'],
  ['retrying', 'retrying'],
  ['completed', 'completed'],
  ['failed', 'failed'],
  ['cancelled', 'cancelled'],
  ['completed,failed,cancelled', 'ended'],
];
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Suggestions wait until the list is there: counting queues would slow it down. */
export function JobFilters({ isListShown }: { readonly isListShown: boolean }): ReactNode {
  const once = { pollMs: null, enabled: isListShown };
  const queues = useRead<Queues>('/queues', { ...once, query: { idle: true } }).data?.queues ?? [];
  const tasks = useRead<Tasks>('/tasks', once).data?.tasks ?? [];
  const [, setAddress] = useAddress();
  /** An id leads to its job; anything else is an idempotency key. */
  const find = (text: string): void => {
    if (UUID.test(text)) go(`/jobs/${text}`);
    else setAddress({ idempotency_key: text === '' ? undefined : text, cursor: undefined });
  };
  return (
    <div className="filters job-filters" role="search">
      <SelectFilter name="status" label="State" any="any state" options={STATES} />
      <TextFilter name="queue" label="Queue" placeholder="Queue" suggestions={queues.map(({ queue }) => queue)} first />
      <TextFilter name="task" label="Task" placeholder="Task" suggestions={tasks} />
      <SpanFilter />
      <TextFilter name="error" label="Error text" placeholder="Error contains" />
      <MetadataField />
      <TextFilter name="idempotency_key" label="Id or key" placeholder="Id or key" onSubmit={find} />
      <TextFilter name="workflow_id" label="Workflow" placeholder="Workflow id" />
    </div>
  );
}

/** One field of the metadata, exactly: `source=signup`. */
function MetadataField(): ReactNode {
  const [address, setAddress] = useAddress();
  const [isMalformed, setMalformed] = useState(false);
  const search = (text: string): void => {
    const filter = text === '' ? undefined : parseMetadata(text);
    setMalformed(filter === null);
    if (filter !== null) setAddress({ ...withMetadata(address, filter), cursor: undefined });
  };
  return (
    <>
      <SearchField
        label="Metadata"
        placeholder="Metadata: a=b"
        value={metadataOf(address)?.join('=') ?? ''}
        onEnter={search}
      />
      {isMalformed && (
        <p className="filter-hint" role="status">
          Metadata is searched by one field and its whole value, such as <code>source=signup</code>.
        </p>
      )}
    </>
  );
}
