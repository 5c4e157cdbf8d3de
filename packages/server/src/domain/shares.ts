/**
 * Queues whose tenants take turns: each gets a job, then each another. A claim for many gives each a few at a time,
 * because jobs of a tenant that are claimed together cost less (bundles). The statements that claim apply it.
 */
const MANY = 64;
const A_FEW = 4;

/** How many jobs a tenant is given at its turn, if a claim is for so many. */
export const turnOf = (wanted: number): number => (wanted < MANY ? 1 : A_FEW);
