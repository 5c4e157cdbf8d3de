import type { ReactNode } from 'react';
import { SelectFilter, SpanFilter, TextFilter } from '../../components/tables/filters.js';
import { Page } from '../../components/page.js';
import { EntryList } from './entries.js';
import { GroupList } from './groups.js';
import { REASONS } from '../../lib/dead-letter-reasons.js';
import './dead-letters.css';
import { useAddress } from '../../lib/routing.js';

/** Jobs that failed for good: what failed alike together, or one by one. */
export default function DeadLettersPage(): ReactNode {
  const [address, setAddress] = useAddress();
  const isList = address.view === 'entries' || address.fingerprint !== undefined;
  const show = (view: string | undefined): void =>
    setAddress({ view, fingerprint: undefined, cursor: undefined, replayed: undefined, reason: undefined });
  return (
    <Page title="Dead letters">
      <div className="filters">
        <div className="row" role="group" aria-label="Show">
          <button type="button" className="button" aria-pressed={!isList} onClick={() => show(undefined)}>
            Groups
          </button>
          <button type="button" className="button" aria-pressed={isList} onClick={() => show('entries')}>
            Entries
          </button>
        </div>
        <SelectFilter
          name="replayed"
          label="Replayed"
          any="open and replayed"
          options={[
            ['false', 'open'],
            ['true', 'replayed'],
          ]}
        />
        {isList && <SelectFilter name="reason" label="Reason" any="any reason" options={Object.entries(REASONS)} />}
        <TextFilter name="task_name" label="Task" placeholder="Task" first />
        <TextFilter name="queue_name" label="Queue" placeholder="Queue" />
        <SpanFilter />
      </div>
      {isList ? <EntryList /> : <GroupList />}
    </Page>
  );
}
