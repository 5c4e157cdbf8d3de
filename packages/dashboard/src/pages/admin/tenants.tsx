import type { AdminTenant, AdminTenants } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Table, type Column } from '../../components/tables/table.js';
import { useAddress } from '../../lib/address.js';
import { number } from '../../lib/format.js';

export function TenantsPanel(): ReactNode {
  const [{ cursor }] = useAddress();
  const read = useRead<AdminTenants>('/admin/tenants', { query: { cursor } });
  return (
    <Panel title="Tenants">
      <Loaded read={read} what="Tenants">
        {({ tenants }) =>
          tenants.length === 0 ? (
            <p className="quiet">There are no tenants yet.</p>
          ) : (
            <Table label="Tenants" rows={tenants} columns={COLUMNS} idOf={({ tenant_id }) => tenant_id} />
          )
        }
      </Loaded>
      {read.data !== undefined && <Pager page={read.data} />}
    </Panel>
  );
}

const COLUMNS: readonly Column<AdminTenant>[] = [
  { key: 'tenant', title: 'Tenant', wide: true, cell: ({ tenant_id }) => <b>{tenant_id}</b> },
  { key: 'waiting', title: 'Waiting', numeric: true, cell: ({ pending }) => number(pending) },
  { key: 'scheduled', title: 'Scheduled', numeric: true, cell: ({ scheduled }) => number(scheduled) },
  { key: 'retrying', title: 'Retrying', numeric: true, cell: ({ retrying }) => number(retrying) },
  { key: 'running', title: 'Running', numeric: true, cell: ({ running }) => number(running) },
];
