import type { AdminTenant, AdminTenants } from '@millrace/contract';
import type { ReactNode } from 'react';
import { useRead } from '../../api/hooks.js';
import { Loaded } from '../../components/notes.js';
import { Panel } from '../../components/page.js';
import { Pager } from '../../components/tables/pager.js';
import { Table, type Column } from '../../components/tables/table.js';
import { heldColumns } from '../../components/tables/held-columns.js';
import { Sparkline } from '../../components/charts/chart.js';
import { barsOf } from '../../components/charts/scale.js';
import { serverNow } from '../../lib/clock.js';
import { number } from '../../lib/format.js';
import { TenantLink } from './tenant-link.js';
import { useShares } from './use-shares.js';
import { useAddress } from '../../lib/routing.js';

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
  { key: 'tenant', title: 'Tenant', cell: ({ tenant_id }) => <TenantLink tenant={tenant_id} /> },
  ...heldColumns<AdminTenant>(),
  {
    key: 'line',
    title: 'Last 6 hours',
    hiddenOnCards: true,
    cell: ({ tenant_id }) => <Ended tenant={tenant_id} />,
  },
];

/** Jobs of the tenant that ended; those who had most of them have a line. */
function Ended({ tenant }: { readonly tenant: string }): ReactNode {
  const { data } = useShares();
  const own = data?.tenants.find(({ tenant_id }) => tenant_id === tenant);
  if (data === undefined || own === undefined) return null;
  const { sums, whole } = barsOf(Date.parse(data.from), data.step_secs, own.ended.length, serverNow());
  const total = own.ended.reduce((sum, n) => sum + n, 0);
  return <Sparkline values={sums(own.ended).slice(...whole)} label={`${tenant}: ${number(total)} jobs ended`} />;
}
