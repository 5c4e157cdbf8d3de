import type { ReactNode } from 'react';
import { openTenant } from '../../shell/reading-as.js';

interface TenantLinkProps {
  readonly tenant: string;
  /** The page to open is that of this queue. */
  readonly queue?: string;
  readonly className?: string;
}

/** The name of a tenant, which opens its pages for reading. */
export function TenantLink({ tenant, queue, className = 'link' }: TenantLinkProps): ReactNode {
  return (
    <button type="button" className={className} title={`Read as ${tenant}`} onClick={() => openTenant(tenant, queue)}>
      {tenant}
    </button>
  );
}
